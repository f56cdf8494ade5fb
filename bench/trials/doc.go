// Package trials measures whole trials in virtual time: how many a second, how
// long the catalogue takes, and how much memory a long run.
package trials
