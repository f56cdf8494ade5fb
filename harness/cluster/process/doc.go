// Package process starts and ends a harness's processes: the clients of all real-time clusters, and the servers of
// local. Each process has its own process group and a record, in case the harness is killed. Its identity survives a
// reuse of its number, and each signal's effect is checked.
package process
