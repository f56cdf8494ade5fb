// Package front makes the plays of the site's first page: three ways in which a lock fails, each run in advance with
// several values of a quantity that the reader sets.
package front
