// Command engine answers requests for the site's pages without a server: the lab with the harness, the locks and the
// checker, compiled to WebAssembly. worker.js runs it in a worker of the page.
package main
