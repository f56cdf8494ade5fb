// Package link is the network between one client and one node: toxiproxy's own
// links, over TCP or over in-memory pipes, with a toxic of ours among them that
// reads RESP. Everything that a partition, a delay or a lost reply does to a
// lock happens here, in the same code for every cluster.
package link
