// Package serve shows runs and the lab in a browser, on this machine alone: the runs in a folder, the progress of a
// current run, and experiments. docs/serve.md describes it.
package serve
