// Package site makes the pages of the lab, its exercises and the catalogue's stories. They are the same from a server
// (package serve) and as files in a folder, where the program in engine/, compiled to WebAssembly, replaces the server.
package site
