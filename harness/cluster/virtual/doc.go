// Package virtual is a cluster in memory and in virtual time: miniredis servers with clocks and disks of their own,
// their replicas, links over in-memory pipes, and clients that are goroutines, all in one synctest bubble. Waiting
// needs no real time, and one seed gives one history, byte for byte.
//
// New, Close and all calls between them must happen inside one bubble (see package bubble).
package virtual
