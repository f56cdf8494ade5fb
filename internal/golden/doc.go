// Package golden compares a test's output with files in testdata. The flag -update writes them anew.
package golden
