// Package clustertest specifies [cluster.Cluster] as tests, which every kind of cluster passes.
package clustertest
