// Command static writes the site as files, to be put on any web server or opened from a
// folder: make site. It compiles the engine to WebAssembly for it.
package main
