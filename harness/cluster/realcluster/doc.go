// Package realcluster is what clusters of real servers have in common, whether these are processes
// or containers: their faults, their clients, how they follow and promote one another, and what an
// operator does to one past every link. A kind of cluster brings a [Host] for each server and a
// [Network].
package realcluster
