package trial

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/local"
	_ "example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/virtual"
	_ "example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

func load(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	list, err := scenarios.Select([]string{name})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

func planned(t *testing.T, job Job, on cluster.Kind, ttl time.Duration) *Plan {
	t.Helper()
	p, err := NewPlan(job, on, cluster.Choice{}, ttl)
	require.NoError(t, err)
	return p
}

// parsed is a scenario with these fields.
func parsed(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	all := "name: a\ntitle: A\nsource: a test\nlesson: None.\n" + text + "\n"
	for _, otherwise := range []string{"nodes: 1", "clients: 1", "script: [acquire: c1]",
		"expect: {mutual-exclusion: holds}"} {
		key, _, _ := strings.Cut(otherwise, " ")
		if !strings.Contains("\n"+text, "\n"+key) {
			all += otherwise + "\n"
		}
	}
	s, err := scenarios.Parse("a.yaml", []byte(all))
	require.NoError(t, err)
	return s
}

func TestNewPlan_VariantOverrides(t *testing.T) {
	s := load(t, "healthy-contention")
	p := planned(t, Job{Scenario: s, Variant: "with fencing tokens"}, virtual.Kind, 30*time.Second)
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

	_, err := NewPlan(Job{Scenario: s, Variant: "eleven keys"}, virtual.Kind, cluster.Choice{}, 0)
	require.EqualError(t, err, `scenario healthy-contention has no variant "eleven keys"`)
}

func TestNewPlan_LeavesOutAnExtensionThatTheLockDoesNotSupport(t *testing.T) {
	s := parsed(t, "script: [acquire: c1, {extend: c1, if-supported: true}, release: c1]")
	for lock, steps := range map[string]int{"get-then-del": 2, "redlock": 3} {
		p := planned(t, Job{Scenario: s, Lock: lock}, virtual.Kind, 0)
		require.Len(t, p.Script, steps, lock)
		require.Empty(t, p.Skip(), lock)
		require.Len(t, s.Script, 3, "the scenario itself is not touched")
	}
}

func TestSkip_Reasons(t *testing.T) {
	const clocks = "nemesis: [{fault: clock, among: [%s], every: 1 ttl, for: 1 ttl, rate: 1.2}]\n" +
		"workload: {clients: 1, for: 1s}"
	for _, c := range []struct {
		name     string
		kind     cluster.Kind
		lock     string
		scenario string // on three nodes by default
		want     string
	}{
		{"nothing in the way", virtual.Kind, "", "", ""},
		{"not for this cluster", virtual.Kind, "", "on: local", "it runs on local only"},
		{"too short a TTL", virtual.Kind, "", "ttl: 8s\nleast-ttl: 8s",
			"it shows nothing at a TTL of 1s: it needs at least 8s"},
		{"a fault that the cluster cannot do", local.Kind, "", "script: [power-loss: n1]",
			lacking(local.Kind, cluster.AbilityPowerLoss)},
		{"a clock that the cluster cannot set", local.Kind, "", fmt.Sprintf(clocks, "c1, n1"),
			lacking(local.Kind, cluster.AbilityClock)},
		{"a fencing store", virtual.Kind, "redsync", "store: {check: fence}",
			"redsync issues no fencing tokens, which this scenario's store checks"},
		{"a store that reads tell no token", virtual.Kind, "redsync", "store: {check: fence-writes}",
			"redsync issues no fencing tokens, which this scenario's store checks"},
		{"tokens to be judged", virtual.Kind, "redsync", "expect: {fencing: violated}",
			"redsync issues no fencing tokens, which this scenario is about"},
		{"a client's clock", virtual.Kind, "redsync", "script: [{clock: c1, jump: 1 ttl}]",
			"redsync reads Go's own clock, which cannot be set for one client"},
		{"a client's clock in a schedule", virtual.Kind, "redsync", fmt.Sprintf(clocks, "c1"),
			"redsync reads Go's own clock, which cannot be set for one client"},
		{"a node's clock is no client's", virtual.Kind, "redsync", "script: [{clock: n1, jump: 1 ttl}]", ""},
		{"a client's timers", virtual.Kind, "redsync", "script: [{starve: c1, for: 1 ttl}]",
			"redsync reads Go's own clock, which cannot be set for one client"},
		{"timers of the harness's clock", virtual.Kind, "single", "nodes: 1\nscript: [{starve: c1, for: 1 ttl}]", ""},
		{"a lock on one node", virtual.Kind, "single", "",
			"single is a lock on one node: the scenario uses 3 nodes and has no single-node variant"},
		{"a lock on one node, where the scenario says why", virtual.Kind, "single",
			"several: nobody goes on without it", "single is a lock on one node: nobody goes on without it"},
		{"a Redis Cluster", virtual.Kind, "single", "redis-cluster: {clients: 1}",
			"needs real Redis servers, which the virtual cluster does not have: local and docker do"},
		{"a lock on one node, and five clients of a Redis Cluster", local.Kind, "single", "redis-cluster: {clients: 5}",
			"single is a lock on one node: the scenario uses 5 nodes and has no single-node variant"},
		{"a restart guard on a Redis Cluster", local.Kind, "redlock-guarded", "redis-cluster: {clients: 5}",
			"the restart guard of redlock-guarded asks each server for how long it has been up, and a client of a Redis " +
				"Cluster has many"},
		{"one node for it", virtual.Kind, "single", "nodes: 1", ""},
		{"a lock that cannot extend", virtual.Kind, "plain-del", "nodes: 1\nscript: [{acquire: c1}, {watch: c1}]",
			"plain-del cannot extend a lease"},
		{"a lock without a watchdog", virtual.Kind, "redsync", "script: [{acquire: c1}, {watch: c1}]",
			"redsync has no watchdog"},
		{"a lock that does not wait for replicas", virtual.Kind, "redsync", "lock: {wait: 1}",
			"redsync does not wait for replicas, which this scenario is about"},
		{"a client that waits for one", virtual.Kind, "redsync", "clients: {c1: {wait: 1}}",
			"redsync does not wait for replicas, which this scenario is about"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.HasPrefix(c.scenario, "nodes: ") {
				c.scenario = "nodes: 3\n" + c.scenario
			}
			require.Equal(t, c.want, planned(t, Job{Scenario: parsed(t, c.scenario), Lock: c.lock},
				c.kind, time.Second).Skip())
		})
	}
}

// lacking is the reason why a cluster lacks an ability, "" if it has it.
func lacking(kind cluster.Kind, a *cluster.Ability) string {
	if err := kind.Can(a); err != nil {
		return err.Error()
	}
	return ""
}

func headerOf(t *testing.T, text string) history.Header {
	t.Helper()
	return *planned(t, Job{Scenario: parsed(t, text)}, local.Kind, 0).Header("redis 7.0.15", 3, 9).Header
}

func TestBounds(t *testing.T) {
	const second, half = int64(time.Second), int64(500 * time.Millisecond)
	const free = int64(1400 * time.Millisecond) // the TTL, a quarter more, and 15 % for a retry
	for name, c := range map[string]struct {
		scenario string
		want     history.Bounds
	}{
		"by default, the one node may be waited for twice, for 5 % of the TTL": {"",
			history.Bounds{Free: free, Grant: half, Release: half, Cancel: half + second/10}},
		"three nodes that are waited for longer": {"nodes: 3\nlock: {node-timeout: 0.2 ttl}",
			history.Bounds{Free: free, Grant: half, Release: half, Cancel: half + 6*second/5}},
		"all set": {"bounds: {free: 2 ttl, grant: 1 ttl, release: 3 ttl, cancel: 4 ttl, tenure: 5 ttl}",
			history.Bounds{Free: 2 * second, Grant: second, Release: 3 * second, Cancel: 4 * second, Tenure: 5 * second}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, headerOf(t, c.scenario).Bounds) })
	}
}

// An experiment's waits prolong each existing bound and create none.
func TestBounds_AllowForWaits(t *testing.T) {
	s := parsed(t, "")
	without := planned(t, Job{Scenario: s}, virtual.Kind, 0).bounds()
	waits := []interleave.Wait{{For: 100 * time.Millisecond}, {For: 200 * time.Millisecond}}
	with := planned(t, Job{Scenario: s, Waits: &waits}, virtual.Kind, 0).bounds()
	for _, name := range history.BoundNames {
		want := *without.Find(name)
		if want > 0 {
			want += int64(300 * time.Millisecond)
		}
		require.Equal(t, want, *with.Find(name), name)
	}
}

func TestEarned(t *testing.T) {
	const workload = "workload: {clients: 3, for: 1s}"
	for name, c := range map[string]struct {
		scenario string
		want     history.Earned
	}{
		"one client":            {"", history.Earned{Grants: 1}},
		"two clients":           {"clients: 2", history.Earned{Grants: 1, Contended: 1}},
		"a workload":            {workload, history.Earned{Grants: 1, Contended: 1}},
		"a fault in the script": {"script: [{acquire: c1}, {flush: n1}]", history.Earned{Grants: 1, Faults: 1}},
		"what ends a fault is none": {"script: [{resume: n1}, {heal: c1-n1}, {let-go: c1-n1}]",
			history.Earned{Grants: 1}},
		"a schedule": {workload + "\nnemesis: [{fault: pause, among: n1, every: 1 ttl, for: 1 ttl}]",
			history.Earned{Grants: 1, Contended: 1, Faults: 1}},
		"protected data": {"expect: {protected-data: holds}", history.Earned{Grants: 1, Writes: 2}},
		"all set": {"clients: 2\nearned: {grants: 0, contended: 0, faults: 4, writes: 5, refused: 6}",
			history.Earned{Faults: 4, Writes: 5, Refused: 6}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, headerOf(t, c.scenario).Earned) })
	}
}

func TestHeader_Contents(t *testing.T) {
	h := headerOf(t, "lock: {name: redlock-fenced}\nstore: {check: fence}\nworkload: {clients: 2, for: 1s}")
	require.Equal(t, history.Header{
		Version: history.Version, Scenario: "a", Cluster: cluster.Local, Server: "redis 7.0.15", Seed: 9, Trial: 3,
		Lock: "redlock-fenced", TTL: int64(time.Second), Nodes: []string{"n1"}, Quorum: 1,
		Clients: []string{"c1", "w1", "w2"}, RealTime: true,
		FencedStore: true, Fencing: true, Expect: map[string]string{checker.MutualExclusion: history.Holds},
		ConfiguredNodes: map[string][]string{}, ClientTTLs: map[string]int64{},
		Bounds: h.Bounds, Earned: h.Earned, StallLimit: h.StallLimit,
	}, h)
}

// Only clients without all nodes are listed; an alias stands for its server.
func TestHeader_ConfiguredNodes(t *testing.T) {
	h := headerOf(t, "nodes: 4\naliases: {n4: n1}\nclients: {c1: {}, c2: {nodes: [n3, n4]}}")
	require.Equal(t, map[string][]string{"c2": {"n1", "n3", "n4"}}, h.ConfiguredNodes)
}

func TestOptions_MaxExtensions_FollowTheTenure(t *testing.T) {
	s := parsed(t, "")
	extensions := func() int { return planned(t, Job{Scenario: s}, virtual.Kind, 0).options().MaxExtensions }
	require.Equal(t, 100, extensions(), "the lock's own")
	s.Bounds = scenarios.Bounds{"tenure": {TTLs: 4}}
	require.Equal(t, 3, extensions(), "the grant is for a TTL, and so is each extension")
	s.Bounds = scenarios.Bounds{"tenure": {TTLs: 1.5}}
	require.Equal(t, 1, extensions())
	s.Lock.MaxExtensions = 7
	require.Equal(t, 7, extensions(), "the scenario's own")
}

func TestOptions_MaxTTL_IsTheLongestOfAllClients(t *testing.T) {
	s := parsed(t, "clients: {c1: {ttl: 3 ttl}, c2: {ttl: 2 ttl}}")
	require.Equal(t, 3*time.Second, planned(t, Job{Scenario: s}, virtual.Kind, 0).options().MaxTTL)
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
