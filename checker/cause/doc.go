// Package cause finds by experiment why a run violated a property: it runs the scenario
// again, from the same seed, with one thing changed. It knows how to vary a scenario;
// whoever asks brings a function that runs one.
package cause
