// Command static writes the site as files for any web server or for opening from a folder: make site. It compiles the
// engine to WebAssembly.
package main
