// Package arrows is the table of which room of this repository may import which,
// and the test that holds the rooms to it.
package arrows
