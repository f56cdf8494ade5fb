package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `package sample

func larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func count(words map[string]int, word string) bool {
	if words[word]++; words[word] > 1 {
		return true
	}
	return false
}

func sum(n int) (s int) {
	for i := 0; i < n; i++ {
		s = s + i
	}
	return s
}

func kind(n int) string {
	switch {
	case n == 0:
		return "no" + "ne" + larger2
	}
	return ""
}

var larger2 = ""

func away(n int) int { return -n }
`

const itsTests = `package sample

import "testing"

func TestLarger(t *testing.T) {
	if larger(1, 2) != 2 || larger(2, 1) != 2 {
		t.Fatal()
	}
}

func TestCount(t *testing.T) {
	words := map[string]int{}
	if count(words, "a") || words["a"] != 1 {
		t.Fatal()
	}
}

func TestSum(t *testing.T) {
	if sum(3) != 3 {
		t.Fatal()
	}
}

func TestKind(t *testing.T) { kind(0) }
`

// An edit is noticed by a test that fails or does not end, live, or not reached; an equivalent one is not printed.
func TestMutants_Outcomes(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sample\n\ngo 1.26\n", "sample.go": sample,
		"sample_test.go": itsTests,
		"known.md":       "| `sample/sample.go` | `a > b` | `a >= b` | of two equals either is the larger |\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	t.Chdir(folder)
	t.Setenv("GOFLAGS", "-mod=mod")
	var out bytes.Buffer
	c := config{files: regexp.MustCompile("."), tests: regexp.MustCompile("."), page: "known.md", workers: 1, out: &out}
	require.NoError(t, c.mutate("."))
	require.Equal(t, `live: sample.go:26:9: n == 0 becomes n != 0
not reached: sample.go:34:31: -n becomes +n
.: 11 edits, of which 1 change nothing; 8 noticed, 80.0 % of the others (1 as a test did not end), 1 live, 1 not reached
`, out.String())

	out.Reset()
	c.again = "live: sample.go:26:9: n == 0 becomes n != 0\n"
	require.NoError(t, c.mutate("."))
	require.Contains(t, out.String(), ".: 1 edits")
}
