package reports

import (
	"os"
	"testing"
)

// CountReadings counts how often each history is read, by its path, until the test
// ends.
func CountReadings(t *testing.T) map[string]int {
	counts, open := map[string]int{}, openInput
	openInput = func(path string) (*os.File, error) {
		counts[path]++
		return open(path)
	}
	t.Cleanup(func() { openInput = open })
	return counts
}
