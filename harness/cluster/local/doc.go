// Package local is a cluster of real redis-server processes on loopback. Each client is a process. toxiproxy, embedded,
// is the network between each client and each server. Time is real.
//
// Nothing outlives a run: Close ends every process and removes every file. On Linux, children die with a killed
// harness. Clean finds other remains by their records.
package local
