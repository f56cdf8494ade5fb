// Package suggest finds the names that a user may have meant.
package suggest
