// Package front makes the plays of the site's first page: three ways in which a lock fails,
// each run beforehand at some values of one quantity that the reader sets.
package front
