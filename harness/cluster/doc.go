// Package cluster is the interface to the lock servers and the network to them. Three kinds implement it: virtual (in
// memory, in virtual time), local (redis-server processes) and docker (containers). The nemesis uses this interface
// alone.
package cluster
