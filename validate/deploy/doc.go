// Package deploy reads what an operator runs: units, compose files, Kubernetes objects, containers and running
// servers. A reader of a format does one thing: it establishes links of a server's [Chain], and breaks the links
// that something it does not recognise could affect.
package deploy
