package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/docker"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// TestRestartTTL_Docker: the TTL is longer only if the script must restart a container within it.
func TestRestartTTL_Docker(t *testing.T) {
	for name, restarts := range map[string]time.Duration{
		"restart-without-persistence": 1,
		"clean-shutdown-aof":          1,
		"restart-delay-too-short":     2, // after half a TTL
		"rolling-restart":             3,
		"supervisor-restarts-at-once": 1,
		"maintenance-restart":         3,
		"delayed-restart":             0,
		"majority-crash-delayed":      0,
		"minority-down":               0,
		"majority-down":               0,
		"client-pause":                0,
	} {
		s := load(t, name)
		p := planned(t, Job{Scenario: s}, docker.Kind, 0)
		require.Equal(t, s.TTL+restarts*docker.Kind.Restart, p.TTL, name)
		p = planned(t, Job{Scenario: s}, local.Kind, 0)
		require.Equal(t, s.TTL, p.TTL, name)
		p = planned(t, Job{Scenario: s}, docker.Kind, 30*time.Second)
		require.Equal(t, 30*time.Second, p.TTL, name)
	}
}

// TestRestartTTL_LongerClientLease: the node comes back after 1.1 of three TTLs.
func TestRestartTTL_LongerClientLease(t *testing.T) {
	p := planned(t, Job{Scenario: load(t, "restart-delay-mixed-ttls")}, docker.Kind, 0)
	require.InEpsilon(t, float64(time.Second)+float64(docker.Kind.Restart)/1.9, float64(p.TTL), 1e-6)
	p = planned(t, Job{Scenario: load(t, "restart-delay-mixed-ttls"), Variant: "delay above the longest TTL"},
		docker.Kind, 0)
	require.Equal(t, time.Second, p.TTL)
}

// TestRestartTTL_RefusalWithinLease: restarts may use up their share of the TTL, so a later acquire that must fail has
// to fit into the rest.
func TestRestartTTL_RefusalWithinLease(t *testing.T) {
	list, err := scenarios.Select(nil)
	require.NoError(t, err)
	asked := 0
	for _, s := range list {
		for _, v := range append([]scenarios.Variant{{}}, s.Variants...) {
			p := planned(t, Job{Scenario: s, Variant: v.Name}, docker.Kind, 0)
			if p.restartBudget == 0 || p.Earned.Refused == nil || *p.Earned.Refused == 0 {
				continue
			}
			last := p.Script[len(p.Script)-1]
			require.Equal(t, scenarios.VerbAcquire, last.Verb, "%s %s", s.Name, v.Name)
			assert.LessOrEqual(t, last.Within.In(p.TTL), p.TTL-p.restartBudget, "%s %s: within", s.Name, v.Name)
			asked++
		}
	}
	require.Greater(t, asked, 5)
}

// TestChargeRestart_OverBudgetIsStall: all restarts share the extra TTL. Other faults do not count, nor does a run
// with the scenario's own TTL.
func TestChargeRestart_OverBudgetIsStall(t *testing.T) {
	var seen []history.Event
	r := &run{plan: &Plan{restartBudget: 2500 * time.Millisecond},
		record: func(e history.Event) { seen = append(seen, e) }}
	at := func(s float64) int64 { return int64(s * 1e9) }
	fault := func(kind, node string) nemesis.Fault {
		return nemesis.Fault{Kind: kind, Targets: []string{node}}
	}
	r.chargeRestart(fault(nemesis.Kill, "n1"), at(1), at(2))
	r.chargeRestart(fault(nemesis.Clock, "n2"), at(2), at(9))
	r.chargeRestart(fault(nemesis.Start, "n1"), at(9), at(10.5))
	require.Empty(t, seen)
	r.chargeRestart(fault(nemesis.Start, "n2"), at(11), at(11.25))
	require.Equal(t, []history.Event{{Time: at(11.25), Process: "n2", Type: history.TypeStall, Late: at(2.75)}}, seen)
	r.plan.restartBudget = 0
	r.chargeRestart(fault(nemesis.Start, "n3"), at(12), at(20))
	require.Len(t, seen, 1)
}

func TestInSync(t *testing.T) {
	master := func(offset int64) *history.Replication {
		return &history.Replication{Role: history.RoleMaster, History: "a", Offset: offset}
	}
	replica := func(linked bool, sequence string, offset int64) *history.Replication {
		return &history.Replication{Role: history.RoleReplica, Linked: linked, History: sequence, Offset: offset}
	}
	require.True(t, inSync(master(10), replica(true, "a", 10)))
	require.True(t, inSync(master(10), replica(true, "a", 12)), "it went on between the two looks")
	require.False(t, inSync(master(10), replica(true, "a", 9)))
	require.False(t, inSync(master(10), replica(false, "a", 10)))
	require.False(t, inSync(master(10), replica(true, "b", 10)), "the data of the master's life before")
	require.False(t, inSync(master(10), master(10)), "it was promoted")
	require.False(t, inSync(nil, replica(true, "a", 10)), "the master is down")
	require.False(t, inSync(master(10), nil))
}
