package checker

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// README.md defines each property, in display order, and some in other words.
func TestEveryPropertyIsDocumented(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(readme), "| property | holds when |\n|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	require.Len(t, rows, len(Properties()))
	for i, p := range Properties() {
		require.NotEmpty(t, p.Meaning)
		require.True(t, strings.HasPrefix(rows[i], "| `"+p.Name+"` | "+p.Meaning), "%s\nshould begin with: %s", rows[i],
			p.Meaning)
	}
}

// declareToy declares a property for one test.
func declareToy(t *testing.T, judge func(*record) (Result, error)) {
	before := properties
	declare(Property{Name: "toy", Meaning: "nobody plays", Place: 9, judge: judge})
	t.Cleanup(func() { properties = before })
}

// A declared property is judged like the others, with all of its fields.
func TestAPropertyIsDeclaredOnce(t *testing.T) {
	s := newStory()
	s.grant("c1", 0, 10, 900)
	h, err := Read(InMemory(s.end(1000)))
	require.NoError(t, err)

	known := len(Properties())
	declareToy(t, func(*record) (Result, error) {
		return newResult("toy", []Violation{{Key: "k1", What: "c1 played"}}, map[string]int64{}), nil
	})
	verdict, err := h.Verdict()
	require.NoError(t, err)
	require.Len(t, verdict.Results, known+1)
	toy := verdict.Of("toy")
	require.Equal(t, history.Violated, toy.Verdict)
	require.Equal(t, int64(1), toy.Measured["violations"])
	require.Equal(t, "c1 played", toy.Violations[0].What)

	broken := errors.New("the toy is broken")
	properties[len(properties)-1].judge = func(*record) (Result, error) { return Result{}, broken }
	h, err = Read(InMemory(s.end(1000)))
	require.NoError(t, err)
	_, err = h.Verdict()
	require.ErrorIs(t, err, broken)
}
