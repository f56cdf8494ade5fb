// Package network is the links of one run of real servers, each on a listening port of its
// own. The local cluster has them in its own process, the docker cluster in a container.
package network
