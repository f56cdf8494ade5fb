// Package memory tells how much memory this process takes at its peak.
package memory
