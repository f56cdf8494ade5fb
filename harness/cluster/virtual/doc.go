// Package virtual is a cluster in memory and in virtual time: miniredis
// servers with clocks and disks of their own, replicas that follow them, links over in-memory
// pipes, and clients that are goroutines, all in one synctest bubble. A run
// takes as long as the work in it, not as long as the waiting, and one seed
// gives one history, byte for byte.
//
// A cluster lives inside a bubble (see package bubble): New, everything that
// is done with it, and Close happen in there.
package virtual
