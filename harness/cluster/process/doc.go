// Package process starts and ends a harness's processes: the clients of all real-time clusters, and the servers of
// local. Each process has its own process group and dies with the harness. Each signal's effect is checked. A record of
// the harness leads to the other remains of a killed one.
package process
