package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	_ "example.org/lockproof/harness/locks/builtin" // the locks that scenarios name
	"example.org/lockproof/internal/golden"
	"example.org/lockproof/internal/input"
	"example.org/lockproof/nemesis"
)

// Each testdata/bad/NAME.yaml is invalid, and NAME.err has the loader's error. Read it in review: it must help a user.
func TestBadScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 30)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := Parse(filepath.Base(file), data)
			require.Error(t, err)
			require.Nil(t, s)
			golden.Require(t, strings.TrimSuffix(file, ".yaml")+".err", err.Error()+"\n")
		})
	}
}

// frame has the fields that every scenario needs.
const frame = `name: framed
title: A frame for tests
source: a test
lesson: One sentence.
expect: {mutual-exclusion: holds}
`

func parsed(t *testing.T, part string) *Scenario {
	t.Helper()
	s, err := Parse("framed.yaml", []byte(frame+part))
	require.NoError(t, err)
	return s
}

func TestDefaults(t *testing.T) {
	s := parsed(t, "clients: 2\nscript:\n  - acquire: c1\n")
	require.Equal(t, &Scenario{
		Name: "framed", Title: "A frame for tests", Source: []string{"a test"}, Lesson: "One sentence.",
		On: []string{"virtual", "local", "docker"}, TTL: time.Second, Nodes: []string{"n1", "n2", "n3", "n4", "n5"},
		Persistence: cluster.PersistNone, Restart: RestartNever, Lock: Lock{Name: "redlock"}, Store: CheckNone,
		Clients: []Client{{Name: "c1"}, {Name: "c2"}},
		Script:  []Step{{Verb: VerbAcquire, Targets: []string{"c1"}, Key: "k1", Line: 8, Column: 5}},
		Expect:  map[string]string{"mutual-exclusion": "holds"},
		File:    "framed.yaml",
	}, s)
}

func TestDefaults_NotSharedBetweenScenarios(t *testing.T) {
	one, other := parsed(t, "workload: {clients: 1, for: 1s}\n"), parsed(t, "workload: {clients: 1, for: 1s}\n")
	one.On = append(one.On[:1], "changed")
	one.Nodes[0] = "changed"
	require.Equal(t, "n1", other.Nodes[0])
	require.Equal(t, []string{"virtual", "local", "docker"}, cluster.Names(),
		"a caller's change does not reach the loader")
}

func TestSetup_EveryKey(t *testing.T) {
	s := parsed(t, `
on: [local, docker]
ttl: 30s
least-ttl: 8s
nodes: 3
aliases: {n2: n1}
replicas: {r1: n1}
persistence: aof-always
redis: {maxmemory: 4mb, maxmemory-policy: allkeys-lru, no-appendfsync-on-rewrite: yes}
restart: always
delay: 1ms
lock: {name: redlock, node-timeout: 0.05 ttl, drift: 0.02, tries: 3, retry: [10ms, 0.1 ttl], max-extensions: 7,
  pool: 2, resends: 4, wait: 1, connection: pool}
store: {check: fence}
clients:
  c1: {reach: [n1, n2], nodes: [n2, n1], far: n3, far-delay: 20ms, ttl: 3 ttl}
  c3: {nodes: r1, wait: 0}
  c2: {}
workload: {clients: 2, threads: 2, keys: 3, for: 20 ttl, hold: 50ms, think: 0}
nemesis:
  - {fault: clock, among: [n1, n2, w1], count: 2, every: 1 ttl, for: [1s, 2s], rate: 1.2}
  - {fault: delay, among: "*-n1", every: [1s, 2s], for: 1s, by: 5ms, direction: to-node}
bounds: {free: 2 ttl, grant: 0.5 ttl, release: 3 ttl, cancel: 4 ttl, tenure: 9 ttl}
earned: {grants: 1, contended: 2, faults: 3, writes: 4, refused: 0}
`)
	number := func(n int) *int { return &n }
	drift := 0.02
	second, ttl := Span{Fixed: time.Second}, Span{TTLs: 1}
	require.Equal(t, []string{"local", "docker"}, s.On)
	require.Equal(t, 30*time.Second, s.TTL)
	require.Equal(t, 8*time.Second, s.MinTTL)
	require.Equal(t, []string{"n1", "n2", "n3"}, s.Nodes)
	require.Equal(t, map[string]string{"n2": "n1"}, s.Aliases)
	require.Equal(t, map[string]string{"r1": "n1"}, s.Replicas)
	require.Equal(t, []string{"n1", "n2", "n3", "r1"}, s.Servers())
	require.Equal(t, cluster.PersistAlways, s.Persistence)
	require.Equal(t, map[string]string{"maxmemory": "4mb", "maxmemory-policy": "allkeys-lru",
		"no-appendfsync-on-rewrite": "yes"}, s.Redis)
	require.Equal(t, RestartAlways, s.Restart)
	require.Equal(t, Span{Fixed: time.Millisecond}, s.Delay)
	require.Equal(t, Lock{Name: "redlock", NodeTimeout: Span{TTLs: 0.05}, Drift: &drift, Tries: 3,
		RetryMin: Span{Fixed: 10 * time.Millisecond}, RetryMax: Span{TTLs: 0.1},
		Settings: locks.Settings{MaxExtensions: 7, Pool: 2, Resends: 4, Wait: 1, Connection: locks.ConnectionPool}}, s.Lock)
	require.Equal(t, CheckFence, s.Store)
	require.Equal(t, []Client{{Name: "c1", Reach: []string{"n1", "n2"}, Nodes: []string{"n2", "n1"},
		FarNodes: []string{"n3"},
		FarDelay: Span{Fixed: 20 * time.Millisecond}, TTL: Span{TTLs: 3}},
		{Name: "c3", Nodes: []string{"r1"}, Wait: number(0)}, {Name: "c2"}}, s.Clients)
	require.Equal(t, &Workload{Clients: 2, Threads: 2, Keys: 3, For: Span{TTLs: 20},
		Hold: Span{Fixed: 50 * time.Millisecond}}, s.Workload)
	require.Equal(t, []Random{
		{Step: Step{Verb: nemesis.Clock, Targets: []string{"n1", "n2", "w1"}, Rate: 1.2}, Count: 2,
			Every: Range{ttl, ttl}, Lasts: Range{second, Span{Fixed: 2 * time.Second}}},
		{Step: Step{Verb: nemesis.Delay, Targets: []string{"c1-n1", "c3-n1", "c2-n1", "w1-n1", "w2-n1"},
			By: Span{Fixed: 5 * time.Millisecond}, Direction: history.ToNode}, Count: 1,
			Every: Range{second, Span{Fixed: 2 * time.Second}}, Lasts: Range{second, second}},
	}, s.Nemesis)
	require.Equal(t, Bounds{"free": {TTLs: 2}, "grant": {TTLs: 0.5}, "release": {TTLs: 3}, "cancel": {TTLs: 4},
		"tenure": {TTLs: 9}}, s.Bounds)
	require.Equal(t, Earned{number(1), number(2), number(3), number(4), number(0)}, s.Earned)
}

// modifiersText lists a step's fields except for its verb and position.
func modifiersText(s Step) string {
	var all []string
	for field, value := range reflect.ValueOf(s).Fields() {
		if !value.IsZero() && !slices.Contains([]string{"Verb", "Line", "Column"}, field.Name) {
			all = append(all, fmt.Sprintf("%s %v", field.Name, value))
		}
	}
	return strings.Join(all, ", ")
}

func TestSteps_EveryVerbAndModifier(t *testing.T) {
	type step struct{ text, want string }
	used := map[Verb]bool{}
	requireSteps := func(setup string, steps []step) {
		for _, s := range steps {
			setup += "- {" + s.text + "}\n"
		}
		script := parsed(t, setup).Script
		require.Len(t, script, len(steps))
		for i, s := range steps {
			used[script[i].Verb] = true
			require.True(t, strings.HasPrefix(s.text, string(script[i].Verb)+": "))
			require.NotZero(t, script[i].Line)
			require.Equal(t, s.want, modifiersText(script[i]), s.text)
		}
	}
	requireSteps("replicas: {r1: n1}\nclients: [c1, c2]\nredis: {maxmemory: 4mb}\nscript:\n", []step{
		{"acquire: c1, key: k2, reaching: [n1, n2, n3], async: true, within: 1 ttl",
			"Targets [c1], Key k2, Reaching [n1 n2 n3], Async true, Within 1 ttl"},
		{"await: c1, must: ok", "Targets [c1], Must ok"},
		{"extend: c1, must: fail, within: 50ms", "Targets [c1], Must fail, Within 50ms"},
		{"check: c1", "Targets [c1]"},
		{"read: c1, key: k2", "Targets [c1], Key k2"},
		{"write: c1", "Targets [c1], Key k1"},
		{"watch: c1", "Targets [c1]"},
		{"cancel: c1", "Targets [c1]"},
		{"wait: 1 ttl + 50ms", "Wait 1 ttl + 50ms"},
		{"until: c1-n3, of: SET, has: received, within: 1 ttl",
			"Targets [c1-n3], Within 1 ttl, Of SET, Has received"},
		{"until: [c1-n1, c1-n2], of: EVAL", "Targets [c1-n1 c1-n2], Of EVAL, Has answered"},
		{"kill: [n1, n2], after: 0.5 ttl", "Targets [n1 n2], After 0.5 ttl"},
		{"kill: c2", "Targets [c2]"},
		{"shutdown: n3, after: 1s", "Targets [n3], After 1s"},
		{"power-loss: n4", "Targets [n4]"},
		{"start: [n3, n4]", "Targets [n3 n4]"},
		{"await-expiry: [n1, n2]", "Targets [n1 n2]"},
		{"pause: c1, each-message: true", "Targets [c1], EachMessage true"},
		{"pause: [c1, n1], for: 1.2 ttl", "Targets [c1 n1], For 1.2 ttl"},
		{"resume: c1", "Targets [c1]"},
		{"starve: c2, for: 1.5 ttl", "Targets [c2], For 1.5 ttl"},
		{`cut: "c1-*", direction: to-client, for: 1s`,
			"Targets [c1-n1 c1-n2 c1-n3 c1-n4 c1-n5], For 1s, Direction to-client"},
		{`heal: "c1-*"`, "Targets [c1-n1 c1-n2 c1-n3 c1-n4 c1-n5]"},
		{"delay: c1-store, by: 20ms", "Targets [c1-store], Direction both, By 20ms"},
		{"hold: [c1-n1, c1-n2], part: reply, of: SET, for: 1.1 ttl, times: 2",
			"Targets [c1-n1 c1-n2], For 1.1 ttl, Of SET, Part reply, Times 2"},
		{`lose: "*-n3", part: command, of: GET`, "Targets [c1-n3 c2-n3], Of GET, Part command, Times 1"},
		{"drop: c1-n1, part: reply, of: DEL", "Targets [c1-n1], Of DEL, Part reply, Times 1"},
		{`let-go: "*-*"`, "Targets [c1-n1 c1-n2 c1-n3 c1-n4 c1-n5 c2-n1 c2-n2 c2-n3 c2-n4 c2-n5]"},
		{"clock: c1, jump: -1 ttl", "Targets [c1], Jump -1 ttl"},
		{"clock: [n1, n2], rate: 0.8", "Targets [n1 n2], Rate 0.8"},
		{"flush: n3", "Targets [n3]"},
		{"script-flush: n3", "Targets [n3]"},
		{"demote: n3, for: 1 ttl", "Targets [n3], For 1 ttl"},
		{"delete-key: n3, key: k2", "Targets [n3], Key k2"},
		{"slow-fsync: [n1, n2], by: 5s, for: 1 ttl", "Targets [n1 n2], For 1 ttl, By 5s"},
		{"fail-fsync: n3", "Targets [n3]"},
		{"await-sync: r1, within: 1 ttl", "Targets [r1], Within 1 ttl"},
		{"promote: r1", "Targets [r1]"},
		{"await-promotion: r1, within: 1 ttl", "Targets [r1], Within 1 ttl"},
		{"kill: r1", "Targets [r1]"},
		{"cut: [r1-n1, c1-r1]", "Targets [r1-n1 c1-r1], Direction both"},
		{"fill-disk: n3, for: 1 ttl", "Targets [n3], For 1 ttl"},
		{"rewrite: n3, for: 1 ttl", "Targets [n3], For 1 ttl"},
		{"fill: n3, for: 1 ttl", "Targets [n3], For 1 ttl"},
		{"disconnect: n3, for: 1 ttl", "Targets [n3], For 1 ttl"},
		{"busy: n1, for: 1 ttl", "Targets [n1], For 1 ttl"},
		{"block: n2, for: 1 ttl", "Targets [n2], For 1 ttl"},
		{"check: c1, thread: b", "Targets [c1], Thread b"},
		{"release: [c1]", "Targets [c1]"},
	})
	requireSteps("redis-cluster: {clients: 1}\nclients: [c1]\nscript:\n", []step{
		{"acquire: c1", "Targets [c1], Key k1"},
		{"migrate-slot: n3, to: n1, key: k2, mistake: early, for: 1 ttl",
			"Targets [n3], Key k2, To n1, Mistake early, For 1 ttl"},
	})
	for _, u := range Usages() {
		require.True(t, used[u.Verb], "no step of this test uses %s", u.Verb)
	}
}

func TestVariants_InheritFromScenario(t *testing.T) {
	s := parsed(t, `
clients: 2
redis: {maxmemory: 4mb}
lock: {tries: 3, drift: 0.05}
bounds: {free: 2 ttl}
earned: {grants: 2}
script:
  - acquire: c1
variants:
  - without: ElapsedCheck
    expect: {mutual-exclusion: violated}
  - lock: {name: redsync}
  - {without: [Majority, DriftMargin], persistence: aof-always, store: {check: compare}}
  - redis: {maxmemory-policy: volatile-ttl}
  - name: another way
    script:
      - acquire: c2
    bounds: {grant: 1 ttl}
    earned: {refused: 1}
`)
	names := []string{"without ElapsedCheck", "redsync", "without Majority, DriftMargin, store checks compare, aof-always",
		"maxmemory-policy volatile-ttl", "another way"}
	for i, v := range s.Variants {
		require.Equal(t, names[i], v.Name)
	}
	require.Equal(t, map[string]string{"mutual-exclusion": "violated"}, s.Variants[0].Expect)
	lock := s.Variants[1].Lock
	require.Equal(t, "redsync", lock.Name)
	require.Equal(t, 3, lock.Tries, "an option that the variant does not set comes from the scenario")
	require.Equal(t, 0.05, *lock.Drift)
	require.Equal(t, map[string]string{"maxmemory": "4mb", "maxmemory-policy": "volatile-ttl"}, s.Variants[3].Redis)
	require.Nil(t, s.Variants[2].Redis)
	require.Equal(t, map[string]string{"maxmemory": "4mb"}, s.Redis)
	last := s.Variants[4]
	require.Equal(t, Bounds{"free": {TTLs: 2}, "grant": {TTLs: 1}}, last.Bounds)
	require.Equal(t, 2, *last.Earned.Grants)
	require.Equal(t, 1, *last.Earned.Refused)
	require.Nil(t, s.Earned.Refused, "the scenario itself is not touched")
	require.Equal(t, []string{"c2"}, last.Script[0].Targets)
}

func TestParse_AnyKeyOrder(t *testing.T) {
	s := parsed(t, "script:\n  - acquire: c1\n    reaching: n7\n  - wait: 200ms\nclients: 1\nnodes: 7\nttl: 500ms\n")
	require.Equal(t, []string{"n7"}, s.Script[0].Reaching)
}

func TestLoad_FileTooLarge(t *testing.T) {
	_, err := Parse("x.yaml", []byte(strings.Repeat("#", int(input.YAML)+1)))
	require.EqualError(t, err, "x.yaml:1:1: the file has 262145 bytes; it may have at most 262144")
	name := filepath.Join(t.TempDir(), "long.yaml")
	require.NoError(t, os.WriteFile(name, nil, 0o644))
	require.NoError(t, os.Truncate(name, 1<<30))
	_, err = Load(name)
	require.ErrorContains(t, err, name+": it has 1073741824 bytes, and such a file has at most 262144")
}

// Scenarios and variants name the folders of a run.
func TestName_TooLong_Fails(t *testing.T) {
	long := strings.Repeat("x", 101)
	_, err := Parse("x.yaml", []byte("name: "+long+"\nscript: [wait: 1s]\n"))
	require.ErrorContains(t, err, "x.yaml:1:7: the name has 101 bytes; want at most 100")
	_, err = Parse("x.yaml", []byte("name: x\nscript: [wait: 1s]\nvariants: [{name: "+long+", persistence: none}]\n"))
	require.ErrorContains(t, err, "x.yaml:3:12: the variant's name has 101 bytes; add a `name:` of at most 100")
}

func TestProblems_ListIsBounded(t *testing.T) {
	_, err := Parse("x.yaml", []byte(strings.Repeat("x: y\n", 3000)))
	require.Len(t, strings.Split(err.Error(), "\n"), maxProblems+1)
	require.ErrorContains(t, err, "more problems; fix those above first")
}

func TestLinks_Sentinels(t *testing.T) {
	s := parsed(t, `
nodes: 1
replicas: {r1: n1}
sentinels: 3
clients: [c1, c2]
script:
  - cut: [sentinel-n1, c1-sentinel, c2-s2]
`)
	require.Equal(t, 3, s.Sentinels)
	require.Equal(t, []string{"sentinel-n1", "c1-s1", "c1-s2", "c1-s3", "c2-s2"}, s.Script[0].Targets)
}
