// Package validate answers an operator's question: do these persistence and
// restart settings keep a lock of this TTL safe? It makes scenarios of the
// catalogue's restart rows, runs them under exactly these settings, and the
// checker judges the histories.
package validate
