// Package trials measures whole trials in virtual time: their rate, the time of the catalogue, and the memory of a long
// run.
package trials
