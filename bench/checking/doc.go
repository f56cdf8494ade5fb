// Package checking measures the checker: how long it takes for a history, and
// how much memory, from a thousand leases to a million.
package checking
