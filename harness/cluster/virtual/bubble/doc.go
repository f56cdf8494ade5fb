// Package bubble runs a function in virtual time: in a bubble of Go's testing/synctest, from an ordinary binary. In a
// bubble, time.Now stands still while any goroutine can run, and jumps to the next timer when all of them wait.
//
// testing/synctest is meant for tests and needs a *testing.T; the zero value works as long as its methods are not
// called. Only this package relies on that, and its test fails if a Go release changes it.
package bubble
