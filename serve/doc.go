// Package serve shows runs and the lab in a browser, on this machine alone:
// what a folder holds of runs, how a run that is under way gets on, two runs side
// by side, and experiments. docs/serve.md describes it.
package serve
