// Package compose holds the definition of the docker cluster, so that the
// program can bring it up wherever it is run.
package compose
