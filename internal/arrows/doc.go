// Package arrows has the table of allowed imports between the rooms of this repository, and its test.
package arrows
