// Package overlay brings libraries that dial by themselves into virtual time. A build overlay, which lockproof test
// passes to go test, adds three guarded lines to package net: in a trial's bubble,
// net.Dial("tcp", "redis-1.c1-17.lockproof.invalid:6379") reaches a server of the trial. Elsewhere net is unchanged.
//
// Each client of each trial has host names and addresses of its own, so that a dial identifies its client, and two
// trials never share a client that a library keeps for the whole process.
package overlay
