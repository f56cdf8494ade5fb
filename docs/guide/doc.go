// Package guide is the guide's text, for pages that show it or link to it.
package guide
