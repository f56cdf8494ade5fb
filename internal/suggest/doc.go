// Package suggest finds what may have been meant by a name that does not exist.
package suggest
