// Command engine is what answers the site's pages where they are files: the lab with the
// harness, the locks and the checker, compiled to WebAssembly. worker.js runs it in a
// worker of the page.
package main
