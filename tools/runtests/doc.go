// Command runtests runs tests as `make test` does: those that wait in real time one
// package at a time, the others beside each other. Last it says, for each thing
// that tests were skipped for want of, how many there were and what brings it.
//
//	go run ./tools/runtests [-cost] [-part 2/3] [-flags "-short -timeout 20m"] package ...
package main
