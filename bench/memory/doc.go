// Package memory measures the peak memory of this process.
package memory
