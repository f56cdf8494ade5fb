// Package needs says what tests need of a machine beyond Go. A test that lacks
// something is skipped for one of the reasons here, and for no other, so that
// `make test` can count the skips of each and say how to get what is lacking.
package needs
