// Package locks holds the locks under test. A lock is anything that satisfies
// Lock; each implementation is one file with one entry in the registry.
package locks
