package lab

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/scenarios"
)

// What a reader adds is a step of the scenario's own file, which is a scenario again: it runs, and
// a link holds it.
func TestAFaultIsAddedToTheFile(t *testing.T) {
	original := experiment(t, "holder-partitioned", "").Catalogued
	added, text, err := Add(original, []string{"1 kill n1", "2 clock n2"})
	require.NoError(t, err)
	require.Contains(t, text, "script:\n  - kill: n1\n    after: 0.3 ttl\n  - acquire: c1\n")
	again, err := scenarios.Parse("again.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, again.Script, len(original.Script)+2)

	_, text, err = Add(original, []string{"2 kill c1"})
	require.NoError(t, err)
	require.Contains(t, text, "  - kill: c1\n  - ", "a client does not come back")

	e, err := New(added, "")
	require.NoError(t, err)
	e.Added = []string{"1 kill n1", "2 clock n2"}
	require.Equal(t, e.Added, e.Query()[FaultControl])
	require.True(t, e.Changed())
	o, err := e.Run(t.Context(), suite.Run)
	require.NoError(t, err)
	faults := map[string]bool{}
	for _, event := range o.Trial.Events {
		if event.Fault != nil {
			faults[string(event.Fault.Class)] = true
		}
	}
	require.True(t, faults[string(history.NodeDown)])
	require.True(t, faults[string(history.NodeClock)])
}

func TestAFaultThatCannotBeAddedIsAnError(t *testing.T) {
	s := experiment(t, "client-pause", "").Catalogued
	for added, want := range map[string]string{
		"":             "want a step, a verb and a target",
		"0 kill n1":    `invalid step "0": want one from 1 to 8`,
		"9 kill n1":    `invalid step "9"`,
		"1 melt n1":    `invalid fault "melt"`,
		"1 kill n9":    `invalid target "n9"`,
		"1 pause n1\n": "",
	} {
		_, _, err := Add(s, []string{added})
		if want == "" {
			require.NoError(t, err, added)
			continue
		}
		require.ErrorContains(t, err, want, added)
	}
}
