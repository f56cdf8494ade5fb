// Package link is the network between one client and one node: toxiproxy's own
// links over TCP, with toxics of ours that read RESP, cut and delay. In virtual
// time connections are in memory, and messages go by the same code without
// toxiproxy's goroutines between; a test holds the two against each other.
// Everything that a partition, a delay or a lost reply does to a lock happens here.
package link
