// Package cluster is the lock servers and the network to them. Three kinds
// satisfy one interface: virtual (in memory, in virtual time), local
// (redis-server processes) and docker (containers). The nemesis breaks a
// cluster through this interface and knows no kind.
package cluster
