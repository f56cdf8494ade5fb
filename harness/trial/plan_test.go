package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	_ "example.org/lockproof/harness/cluster/kinds"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// load gives one scenario of the catalogue.
func load(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	list, err := scenarios.Select([]string{name})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// planned is a job's plan with these settings.
func planned(t *testing.T, job Job, settings Settings) *Plan {
	t.Helper()
	p, err := NewPlan(job, settings)
	require.NoError(t, err)
	return p
}

// plain is a scenario with no script.
func plain() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: "a", On: []string{cluster.Virtual, cluster.Local}, TTL: time.Second, Nodes: []string{"n1"},
		Clients: []scenarios.Client{{Name: "c1"}},
		Expect:  map[string]string{checker.MutualExclusion: history.Holds},
	}
}

func TestNewPlan_VariantOverrides(t *testing.T) {
	s := load(t, "healthy-contention")
	p := planned(t, Job{Scenario: s, Variant: "with fencing tokens"}, Settings{On: virtual.Kind, TTL: 30 * time.Second})
	require.Equal(t, "redlock-fenced", p.Lock.Name)
	require.Equal(t, scenarios.CheckFence, p.Store)
	require.Equal(t, 30*time.Second, p.TTL)
	require.Equal(t, s.Workload, p.Workload, "what it does not name stays")
	require.Equal(t, map[string]string{
		checker.MutualExclusion: history.Holds, checker.ProtectedData: history.Holds, checker.Fencing: history.Holds,
		checker.DeadlockFreedom: history.Holds, checker.FaultTolerance: history.Holds,
	}, p.Expect, "its expectations come on top of the scenario's")
	require.Equal(t, time.Second, s.TTL, "the scenario itself is not touched")
	require.NotContains(t, s.Expect, checker.Fencing)

	_, err := NewPlan(Job{Scenario: s, Variant: "eleven keys"}, Settings{On: virtual.Kind})
	require.EqualError(t, err, `scenario healthy-contention has no variant "eleven keys"`)
}

func TestSkip_Reasons(t *testing.T) {
	step := func(v scenarios.Verb, targets ...string) []scenarios.Step {
		return []scenarios.Step{{Verb: v, Targets: targets, Jump: scenarios.Span{TTLs: 1}}}
	}
	three := []string{"n1", "n2", "n3"}
	for _, c := range []struct {
		name   string
		kind   cluster.Kind
		lock   string
		change func(*scenarios.Scenario)
		want   string
	}{
		{"nothing in the way", virtual.Kind, "", func(*scenarios.Scenario) {}, ""},
		{"not for this cluster", virtual.Kind, "", func(s *scenarios.Scenario) { s.On = []string{cluster.Local} },
			"it runs on local only"},
		{"too short a TTL", virtual.Kind, "", func(s *scenarios.Scenario) { s.MinTTL = 8 * time.Second },
			"it shows nothing at a TTL of 1s: it needs at least 8s"},
		{"a fault that the cluster cannot do", local.Kind, "",
			func(s *scenarios.Scenario) { s.Script = step(nemesis.PowerLoss, "n1") },
			lacking(local.Kind, cluster.AbilityPowerLoss)},
		{"a clock that the cluster cannot set", local.Kind, "", func(s *scenarios.Scenario) {
			s.Nemesis = []scenarios.Random{{Fault: nemesis.Clock, Candidates: []string{"c1", "n1"}}}
		}, lacking(local.Kind, cluster.AbilityClock)},
		{"a fencing store", virtual.Kind, "redsync", func(s *scenarios.Scenario) { s.Store = scenarios.CheckFence },
			"redsync issues no fencing tokens, which this scenario's store checks"},
		{"a store that reads tell no token", virtual.Kind, "redsync",
			func(s *scenarios.Scenario) { s.Store = scenarios.CheckFenceWrites },
			"redsync issues no fencing tokens, which this scenario's store checks"},
		{"tokens to be judged", virtual.Kind, "redsync", func(s *scenarios.Scenario) {
			s.Expect = map[string]string{checker.Fencing: history.Violated}
		}, "redsync issues no fencing tokens, which this scenario is about"},
		{"a client's clock", virtual.Kind, "redsync", func(s *scenarios.Scenario) { s.Script = step(nemesis.Clock, "c1") },
			"redsync reads Go's own clock, which cannot be set for one client"},
		{"a client's clock in a schedule", virtual.Kind, "redsync", func(s *scenarios.Scenario) {
			s.Nemesis = []scenarios.Random{{Fault: nemesis.Clock, Candidates: []string{"c1"}}}
		}, "redsync reads Go's own clock, which cannot be set for one client"},
		{"a node's clock is no client's", virtual.Kind, "redsync",
			func(s *scenarios.Scenario) { s.Script = step(nemesis.Clock, "n1") }, ""},
		{"a client's timers", virtual.Kind, "redsync", func(s *scenarios.Scenario) { s.Script = step(nemesis.Starve, "c1") },
			"redsync reads Go's own clock, which cannot be set for one client"},
		{"timers of the harness's clock", virtual.Kind, "single", func(s *scenarios.Scenario) {
			s.Nodes, s.Script = three[:1], step(nemesis.Starve, "c1")
		}, ""},
		{"a lock on one node", virtual.Kind, "single", func(*scenarios.Scenario) {},
			"single is a lock on one node: the scenario uses 3 nodes and has no single-node variant"},
		{"a lock on one node, where the scenario says why", virtual.Kind, "single",
			func(s *scenarios.Scenario) { s.MultiNodeReason = "nobody goes on without it" },
			"single is a lock on one node: nobody goes on without it"},
		{"a Redis Cluster", virtual.Kind, "single",
			func(s *scenarios.Scenario) { s.RedisCluster = &scenarios.RedisCluster{Clients: 1} },
			"needs real Redis servers, which the virtual cluster does not have: local and docker do"},
		{"a lock on one node, and five clients of a Redis Cluster", local.Kind, "single",
			func(s *scenarios.Scenario) { s.RedisCluster = &scenarios.RedisCluster{Clients: 5} },
			"single is a lock on one node: the scenario uses 5 nodes and has no single-node variant"},
		{"a restart guard on a Redis Cluster", local.Kind, "redlock-guarded",
			func(s *scenarios.Scenario) { s.RedisCluster = &scenarios.RedisCluster{Clients: 5} },
			"the restart guard of redlock-guarded asks each server for how long it has been up, and a client of a Redis " +
				"Cluster has many"},
		{"one node for it", virtual.Kind, "single", func(s *scenarios.Scenario) { s.Nodes = three[:1] }, ""},
		{"a lock that cannot extend", virtual.Kind, "plain-del",
			func(s *scenarios.Scenario) { s.Nodes, s.Script = three[:1], step(scenarios.VerbWatch, "c1") },
			"plain-del cannot extend a lease"},
		{"a lock without a watchdog", virtual.Kind, "redsync",
			func(s *scenarios.Scenario) { s.Script = step(scenarios.VerbWatch, "c1") },
			"redsync has no watchdog"},
		{"a lock that does not wait for replicas", virtual.Kind, "redsync", func(s *scenarios.Scenario) { s.Lock.Wait = 1 },
			"redsync does not wait for replicas, which this scenario is about"},
		{"a client that waits for one", virtual.Kind, "redsync",
			func(s *scenarios.Scenario) { one := 1; s.Clients = []scenarios.Client{{Name: "c1", Wait: &one}} },
			"redsync does not wait for replicas, which this scenario is about"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := *plain()
			s.Nodes = three
			c.change(&s)
			require.Equal(t, c.want, planned(t, Job{Scenario: &s, Lock: c.lock}, Settings{On: c.kind}).Skip())
		})
	}
}

// lacking is what a cluster says of an ability that it has not; "" if it has.
func lacking(kind cluster.Kind, a *cluster.Ability) string {
	if err := kind.Can(a); err != nil {
		return err.Error()
	}
	return ""
}

// headerOf is that of a scenario with these changes.
func headerOf(t *testing.T, change func(*scenarios.Scenario)) history.Header {
	t.Helper()
	s := *plain()
	change(&s)
	return *planned(t, Job{Scenario: &s}, Settings{On: local.Kind}).Header("redis 7.0.15", 3, 9).Header
}

func TestBounds(t *testing.T) {
	const retry = 150 * time.Millisecond // 15 % of a TTL of a second
	const half = int64(500 * time.Millisecond)
	free := int64(time.Second + 250*time.Millisecond + retry)
	cancel := half + 2*int64(50*time.Millisecond) // the one node may be waited for twice, for 5 % of the TTL
	ttls := func(n float64) scenarios.Span { return scenarios.Span{TTLs: n} }
	for _, c := range []struct {
		name   string
		change func(*scenarios.Scenario)
		want   history.Bounds
	}{
		{"by default", func(*scenarios.Scenario) {}, history.Bounds{Free: free, Grant: half, Release: half, Cancel: cancel}},
		{"three nodes that are waited for longer", func(s *scenarios.Scenario) {
			s.Nodes, s.Lock.NodeTimeout = []string{"n1", "n2", "n3"}, ttls(0.2)
		}, history.Bounds{Free: free, Grant: half, Release: half, Cancel: half + 2*3*int64(200*time.Millisecond)}},
		{"all set", func(s *scenarios.Scenario) {
			s.Bounds = scenarios.Bounds{"free": ttls(2), "grant": ttls(1), "release": ttls(3), "cancel": ttls(4),
				"tenure": ttls(5)}
		}, history.Bounds{Free: int64(2 * time.Second), Grant: int64(time.Second), Release: int64(3 * time.Second),
			Cancel: int64(4 * time.Second), Tenure: int64(5 * time.Second)}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, headerOf(t, c.change).Bounds) })
	}
}

// An experiment that has goroutines wait prolongs each bound by that, and makes none.
func TestBounds_AllowForWaits(t *testing.T) {
	s := plain()
	without := planned(t, Job{Scenario: s}, Settings{On: virtual.Kind}).bounds()
	waits := []interleave.Wait{{For: 100 * time.Millisecond}, {For: 200 * time.Millisecond}}
	with := planned(t, Job{Scenario: s, Changes: Changes{Waits: &waits}}, Settings{On: virtual.Kind}).bounds()
	for _, name := range history.BoundNames {
		want := *without.Find(name)
		if want > 0 {
			want += int64(300 * time.Millisecond)
		}
		require.Equal(t, want, *with.Find(name), name)
	}
}

func TestEarned(t *testing.T) {
	two := func(s *scenarios.Scenario) { s.Clients = []scenarios.Client{{Name: "c1"}, {Name: "c2"}} }
	number := func(n int) *int { return &n }
	for _, c := range []struct {
		name   string
		change func(*scenarios.Scenario)
		want   history.Earned
	}{
		{"one client", func(*scenarios.Scenario) {}, history.Earned{Grants: 1}},
		{"two clients", two, history.Earned{Grants: 1, Contended: 1}},
		{"a workload", func(s *scenarios.Scenario) { s.Workload = &scenarios.Workload{Clients: 3, Keys: 1} },
			history.Earned{Grants: 1, Contended: 1}},
		{"a fault in the script", func(s *scenarios.Scenario) {
			s.Script = []scenarios.Step{{Verb: scenarios.VerbAcquire}, {Verb: nemesis.Flush, Targets: []string{"n1"}}}
		}, history.Earned{Grants: 1, Faults: 1}},
		{"what ends a fault is none", func(s *scenarios.Scenario) {
			s.Script = []scenarios.Step{{Verb: nemesis.Resume, Targets: []string{"n1"}}, {Verb: nemesis.Heal},
				{Verb: nemesis.LetGo}}
		}, history.Earned{Grants: 1}},
		{"a schedule", func(s *scenarios.Scenario) { s.Nemesis = []scenarios.Random{{Fault: nemesis.Pause}} },
			history.Earned{Grants: 1, Faults: 1}},
		{"protected data", func(s *scenarios.Scenario) { s.Expect = map[string]string{checker.ProtectedData: history.Holds} },
			history.Earned{Grants: 1, Writes: 2}},
		{"all set", func(s *scenarios.Scenario) {
			two(s)
			s.Earned = scenarios.Earned{Grants: number(0), Contended: number(0), Faults: number(4), Writes: number(5),
				Refused: number(6)}
		}, history.Earned{Faults: 4, Writes: 5, Refused: 6}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, headerOf(t, c.change).Earned) })
	}
}

func TestHeader_Contents(t *testing.T) {
	h := headerOf(t, func(s *scenarios.Scenario) {
		s.Lock.Name = "redlock-fenced"
		s.Store = scenarios.CheckFence
		s.Workload = &scenarios.Workload{Clients: 2, Keys: 1}
	})
	require.Equal(t, history.Header{
		Version: history.Version, Scenario: "a", Cluster: cluster.Local, Server: "redis 7.0.15", Seed: 9, Trial: 3,
		Lock: "redlock-fenced", TTL: int64(time.Second), Nodes: []string{"n1"}, Quorum: 1,
		Clients: []string{"c1", "w1", "w2"}, RealTime: true,
		FencedStore: true, Fencing: true, Expect: map[string]string{checker.MutualExclusion: history.Holds},
		ConfiguredNodes: map[string][]string{}, ClientTTLs: map[string]int64{},
		Bounds: h.Bounds, Earned: h.Earned, StallLimit: h.StallLimit,
	}, h)
}

// The header says which nodes a client's lock is given, if not all; an alias stands for its server.
func TestHeader_ConfiguredNodes(t *testing.T) {
	h := headerOf(t, func(s *scenarios.Scenario) {
		s.Nodes = []string{"n1", "n2", "n3", "n4"}
		s.Aliases = map[string]string{"n4": "n1"}
		s.Clients = []scenarios.Client{{Name: "c1"}, {Name: "c2", Nodes: []string{"n3", "n4"}}}
	})
	require.Equal(t, map[string][]string{"c2": {"n1", "n3", "n4"}}, h.ConfiguredNodes)
}

func TestOptions_MaxExtensions_FollowTheTenure(t *testing.T) {
	s := plain()
	extensions := func() int { return planned(t, Job{Scenario: s}, Settings{On: virtual.Kind}).options().MaxExtensions }
	require.Equal(t, 100, extensions(), "the lock's own")
	s.Bounds = scenarios.Bounds{"tenure": {TTLs: 4}}
	require.Equal(t, 3, extensions(), "the grant is for a TTL, and so is each extension")
	s.Bounds = scenarios.Bounds{"tenure": {TTLs: 1.5}}
	require.Equal(t, 1, extensions())
	s.Lock.MaxExtensions = 7
	require.Equal(t, 7, extensions(), "the scenario's own")
}

func TestOptions_MaxTTL_IsTheLongestOfAllClients(t *testing.T) {
	s := plain()
	s.Clients = []scenarios.Client{{Name: "c1", TTL: scenarios.Span{TTLs: 3}}, {Name: "c2", TTL: scenarios.Span{TTLs: 2}}}
	require.Equal(t, 3*time.Second, planned(t, Job{Scenario: s}, Settings{On: virtual.Kind}).options().MaxTTL)
}

func TestWithCallerKeys(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		on    string // its name on the server
		want  string
	}{
		{"it does not say", nil, "lock:k1", "lock:k1"},
		{"with something around it", []string{"{" + locks.KeyPlaceholder + "}:lock"}, "{k1}:lock", "k1"},
		{"another's key", []string{"lock:" + locks.KeyPlaceholder}, "k1", "k1"},
		{"nothing is left of it", []string{"lock:" + locks.KeyPlaceholder}, "lock:", "lock:"},
		{"a name without the key", []string{"k"}, "k1", "k1"},
		{"a name with the key twice", []string{locks.KeyPlaceholder + ":" + locks.KeyPlaceholder}, "k1:k1", "k1:k1"},
		{"several names", []string{"a:" + locks.KeyPlaceholder, "b:" + locks.KeyPlaceholder}, "a:k1", "a:k1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Plan{Lock: locks.Kind{Abilities: locks.Abilities{Keys: c.names}}}
			var got []history.Event
			record := p.withCallerKeys(func(e history.Event) { got = append(got, e) })
			command := history.Event{Key: c.on, Command: &history.Command{Key: c.on, Others: []string{c.on}}}
			look := history.Event{Node: &history.Node{Up: true, Keys: map[string]history.KeyState{c.on: {Token: "a"}}}}
			record(command)
			record(look)
			record(history.Event{Key: c.on, Op: history.OpAcquire})
			require.Equal(t, []string{c.want, c.want}, []string{got[0].Key, got[0].Command.Key})
			require.Equal(t, []string{c.want}, got[0].Command.Others, "whether it changed the lock's key is judged by its name")
			require.Equal(t, map[string]history.KeyState{c.want: {Token: "a"}}, got[1].Node.Keys)
			require.Equal(t, c.on, got[2].Key, "what a client says is its own")
			require.Equal(t, c.on, command.Command.Key, "the event that came is not changed")
			require.Equal(t, []string{c.on}, command.Command.Others)
			require.Contains(t, look.Node.Keys, c.on)
		})
	}
}
