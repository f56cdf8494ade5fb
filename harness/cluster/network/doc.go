// Package network holds the links of one run of real servers, each on its own listener. They run in the harness's
// process, for servers in containers too.
package network
