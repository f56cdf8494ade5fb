// Package clustertest is what every kind of cluster does alike: the specification of [cluster.Cluster] as tests, which
// each kind passes.
package clustertest
