// Package searching measures how soon a search finds what breaks a lock.
package searching
