// Package realcluster is the common part of clusters of real servers, in processes or containers: faults, clients,
// replication, failover, and an operator's commands, which bypass the links. They run
// the links of a run in the harness's process. A kind of cluster supplies a [Host] for each server.
package realcluster
