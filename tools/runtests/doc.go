// Command runtests runs the tests of `make test`. Packages that wait in real time run two at a time, the others in
// parallel. A summary counts the skipped tests by missing program, with the command that installs it.
//
//	go run ./tools/runtests [-cost] [-part 2/3] [-flags "-short -timeout 20m"] package ...
package main
