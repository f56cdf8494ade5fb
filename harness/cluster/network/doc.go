// Package network holds the links of one run of real servers, each on its own listening port. The local cluster runs
// them in its own process, the docker cluster in a container.
package network
