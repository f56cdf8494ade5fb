// Package realcluster is what clusters of real servers have in common, whether these are processes
// or containers: their faults, their clients, and how they follow and promote one another. A
// kind of cluster brings a [Host] for each server and a [Network].
package realcluster
