// Package cause finds by experiment why a run violated a property: it runs the scenario again, from the same seed, with
// one thing changed. It varies scenarios; its caller provides the function that runs one.
package cause
