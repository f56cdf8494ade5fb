// Package site makes the pages of the lab, its exercises and the catalogue's stories. A
// server sends them (package serve), or they lie in a folder as files, where the program
// in engine/, compiled to WebAssembly, answers what a server would: the pages are the same.
package site
