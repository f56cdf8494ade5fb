// Package searching measures how soon a search finds a violation.
package searching
