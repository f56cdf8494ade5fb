// Package bubble runs a function in virtual time: in a bubble of Go's
// testing/synctest, from an ordinary binary. In a bubble time.Now is a clock
// that stands still while any goroutine can run, and jumps to the next timer
// when all of them wait.
//
// testing/synctest is meant for tests and takes a *testing.T; a zero one does,
// as long as nobody calls its methods. This package is the only place of the
// program that leans on that, and its test breaks loudly when a Go release
// changes it.
package bubble
