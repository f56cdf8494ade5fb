package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/nemesis"
)

// TestRestartsTakeTimeOnDocker: the TTL is longer where the script has to bring a
// container back within it, and nowhere else.
func TestRestartsTakeTimeOnDocker(t *testing.T) {
	for name, restarts := range map[string]time.Duration{
		"restart-without-persistence": 1,
		"clean-shutdown-aof":          1,
		"restart-delay-too-short":     2, // half of a TTL passes before it
		"rolling-restart":             3,
		"supervisor-restarts-at-once": 1,
		"maintenance-restart":         3,
		"delayed-restart":             0,
		"majority-crash-delayed":      0,
		"minority-down":               0,
		"majority-down":               0,
		"client-pause":                0,
	} {
		j := Job{Scenario: load(t, name)}
		p, err := Options{Cluster: Docker}.settle(j)
		require.NoError(t, err)
		require.Equal(t, j.Scenario.TTL+restarts*containerRestart, p.TTL, name)
		p, err = Options{Cluster: Local}.settle(j)
		require.NoError(t, err)
		require.Equal(t, j.Scenario.TTL, p.TTL, name)
		p, err = Options{Cluster: Docker, TTL: 30 * time.Second}.settle(j)
		require.NoError(t, err)
		require.Equal(t, 30*time.Second, p.TTL, name)
	}
}

// TestRestartsThatTakeTooLongAreAStall: together they may take what the TTL is
// longer for, and no more; other faults do not count, nor does a run whose TTL is
// the scenario's own.
func TestRestartsThatTakeTooLongAreAStall(t *testing.T) {
	var seen []history.Event
	r := &run{plan: &plan{restarting: 2500 * time.Millisecond}, record: func(e history.Event) { seen = append(seen, e) }}
	at := func(s float64) int64 { return int64(s * 1e9) }
	fault := func(kind nemesis.Kind, node string) nemesis.Fault {
		return nemesis.Fault{Kind: kind, Targets: []string{node}}
	}
	r.charge(fault(nemesis.Kill, "n1"), at(1), at(2))
	r.charge(fault(nemesis.Clock, "n2"), at(2), at(9))
	r.charge(fault(nemesis.Start, "n1"), at(9), at(10.5))
	require.Empty(t, seen)
	r.charge(fault(nemesis.Start, "n2"), at(11), at(11.25))
	require.Equal(t, []history.Event{{Time: at(11.25), Process: "n2", Type: history.TypeStall, Late: at(2.75)}}, seen)
	r.plan.restarting = 0
	r.charge(fault(nemesis.Start, "n3"), at(12), at(20))
	require.Len(t, seen, 1)
}
