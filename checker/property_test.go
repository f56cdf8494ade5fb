package checker

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

func TestEveryPropertyIsJudged(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	var names []string
	for _, p := range properties {
		names = append(names, p.Name)
		require.NotEmpty(t, p.Meaning)
		require.True(t, strings.Contains(string(readme), "| `"+p.Name+"` |"), "README.md says what %s means", p.Name)
	}
	require.Equal(t, history.Properties, names)
}

// declareToy adds a property for one test.
func declareToy(t *testing.T, judge func(*analysis, *blamer, oracles) (Result, error)) {
	before := properties
	properties = append(slices.Clip(before), Property{"toy", "nobody plays", judge})
	t.Cleanup(func() { properties = before })
}

// A property that is declared is judged like the others, and none of it is lost.
func TestAPropertyIsDeclaredOnce(t *testing.T) {
	s := tale()
	s.grant("c1", 0, 10, 900)
	h, err := Read(InMemory(s.end(1000)))
	require.NoError(t, err)

	declareToy(t, func(*analysis, *blamer, oracles) (Result, error) {
		return settle("toy", []Violation{{Key: "k1", What: "c1 played"}}, map[string]int64{}), nil
	})
	verdict, err := h.Verdict()
	require.NoError(t, err)
	require.Len(t, verdict.Results, len(history.Properties)+1)
	toy := verdict.Of("toy")
	require.Equal(t, history.Violated, toy.Verdict)
	require.Equal(t, int64(1), toy.Measured["violations"])
	require.Equal(t, "c1 played", toy.Violations[0].What)

	broken := errors.New("the toy is broken")
	properties[len(properties)-1].judge = func(*analysis, *blamer, oracles) (Result, error) { return Result{}, broken }
	h, err = Read(InMemory(s.end(1000)))
	require.NoError(t, err)
	_, err = h.Verdict()
	require.ErrorIs(t, err, broken)
}
