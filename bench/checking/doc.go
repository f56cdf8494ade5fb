// Package checking measures the checker's time and memory, for histories of a thousand to a million leases.
package checking
