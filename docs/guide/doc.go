// Package guide is the guide's text, for pages that show it and that lead to it.
package guide
