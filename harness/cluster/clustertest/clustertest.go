package clustertest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Bench is a cluster with clients c1 and c2, for one test.
type Bench struct {
	cluster.Cluster
	// Over makes a Redis client over a link; the bench closes it.
	Over func(client, node string) *redis.Client
}

// With runs a test on a new cluster, in virtual time if the kind has it, and closes the cluster. change, unless nil,
// edits the configuration.
type With func(t *testing.T, nodes int, change func(*cluster.Config), test func(b Bench))

// Config configures a cluster with clients c1 and c2; change, unless nil, edits the configuration.
func Config(nodes int, change func(*cluster.Config)) cluster.Config {
	cfg := cluster.Config{Clients: []string{"c1", "c2"}, Seed: 1, Record: func(history.Event) {}}
	for i := range nodes {
		cfg.Nodes = append(cfg.Nodes, fmt.Sprintf("n%d", i+1))
	}
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// Events collects recorded events.
type Events struct {
	mu  sync.Mutex
	all []history.Event
}

// Record adds an event.
func (e *Events) Record(x history.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, x)
}

// All returns the events so far.
func (e *Events) All() []history.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// Main is the TestMain of a package whose tests re-execute their own binary. One argument selects a role, such as a
// client. Without one, the tests run with a temporary home folder, which keeps the clusters' records.
func Main(m *testing.M, roles map[string]func(io.Reader, io.Writer) error) {
	if len(os.Args) == 2 && roles[os.Args[1]] != nil {
		if err := roles[os.Args[1]](os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	home, err := os.MkdirTemp("", "lockproof-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", home)
	os.Setenv("HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// Dial returns a go-redis client with the options of the project's clients, for a server with a password.
func Dial(t testing.TB, addr, password string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, Password: password, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		Protocol: 2, DisableIdentity: true,
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// OwnState gives a test its own state folder and returns the folder of run records.
func OwnState(t *testing.T) (folder string) {
	t.Helper()
	for _, variable := range []string{"XDG_CACHE_HOME", "HOME", "TMPDIR"} {
		t.Setenv(variable, t.TempDir())
	}
	return filepath.Join(os.Getenv("XDG_CACHE_HOME"), "lockproof", "runs")
}

// Records lists the run records in the state folder.
func Records(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "lockproof", "runs", "run-*.jsonl"))
	require.NoError(t, err)
	return files
}

// RefusesStrangers requires that servers refuse a client without the password: any user of the machine can dial them.
func RefusesStrangers(t *testing.T, addresses []string) {
	t.Helper()
	for _, addr := range addresses {
		stranger := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
		require.ErrorContains(t, stranger.Ping(ctx).Err(), "NOAUTH", addr)
		require.NoError(t, stranger.Close())
	}
}

// ctx never ends: a test's own context belongs to real time.
var ctx = context.Background()

// Run runs the suite, except for tests of abilities that the kind lacks.
func Run(t *testing.T, kind cluster.Kind, with With) {
	for _, part := range []struct {
		name  string
		needs *cluster.Ability // nil: every kind can
		test  func(*testing.T, With)
	}{
		{"what a node remembers", nil, remembers},
		{"a pause", nil, pauses},
		{"a kill", nil, kills},
		{"a flush", nil, flushes},
		{"a look", nil, looks},
		{"a power loss", cluster.AbilityPowerLoss, losesPower},
		{"a clock", cluster.AbilityClock, clocks},
		{"a slow disk", cluster.AbilityDisk, slowDisk},
		{"a disk that fails", cluster.AbilityDisk, failingDisk},
		{"a supervisor", cluster.AbilityServer, supervises},
		{"an alias", nil, aliases},
		{"a cut", nil, cuts},
		{"a delay", nil, delays},
		{"a held message", nil, holds},
		{"a lost message", nil, loses},
		{"a dropped message", nil, drops},
		{"a replica", nil, replicates},
		{"a replica that is promoted", nil, promotes},
		{"Sentinels", cluster.AbilityServer, failsOver},
		{"a Redis Cluster", cluster.AbilityServer, failsOverInRedisCluster},
		{"a slot that moves", cluster.AbilityServer, movesSlot},
	} {
		if part.needs == nil || kind.Can(part.needs) == nil {
			t.Run(part.name, func(t *testing.T) { part.test(t, with) })
		}
	}
}

func sendSet(db *redis.Client, key string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- db.Set(ctx, key, "token", time.Minute).Err() }()
	return done
}

func withTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// hasKey repeats a failed look: a busy machine can make one time out.
func hasKey(t *testing.T, n cluster.Node, key string) bool {
	t.Helper()
	look, err := n.Look(ctx)
	for range 10 {
		if err == nil {
			break
		}
		look, err = n.Look(ctx)
	}
	require.NoError(t, err)
	require.True(t, look.Up)
	_, found := look.Keys[key]
	return found
}

// pending reports whether an operation has not ended.
func pending(done <-chan error) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// eventually waits for a condition, on the cluster's clock.
func eventually(t *testing.T, b Bench, what string, condition func() bool) {
	t.Helper()
	for range 2000 {
		if condition() {
			return
		}
		require.NoError(t, b.Sleep(ctx, 10*time.Millisecond))
	}
	require.Fail(t, "it never came: "+what)
}

// settle is long compared with a round trip.
const settle = 100 * time.Millisecond
