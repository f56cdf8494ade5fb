// Package kinds lists the kinds of clusters. Whoever speaks of all of them, or
// looks one up by its name, asks here.
package kinds
