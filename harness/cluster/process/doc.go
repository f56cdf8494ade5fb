// Package process starts processes for a harness and ends them: each in a process
// group of its own, identified beyond its number, on record for the case that the
// harness is killed, and seen to obey the signals that it is sent. The clients of
// every cluster in real time are such processes, and so are the servers of local.
package process
