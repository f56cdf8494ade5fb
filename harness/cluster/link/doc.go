// Package link is the network between one client and one node. Over TCP it uses toxiproxy's links, with our own toxics
// that read RESP, cut and delay. In virtual time connections are in memory, and the same code passes messages on
// without toxiproxy's goroutines; a test compares the two. Partitions, delays and lost replies happen here.
package link
