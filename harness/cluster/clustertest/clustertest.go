package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
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

// Recorder collects what is recorded from any goroutine.
type Recorder[T any] struct {
	mu  sync.Mutex
	all []T
}

// Events collects recorded events.
type Events = Recorder[history.Event]

// Record adds an event.
func (r *Recorder[T]) Record(x T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
}

// All returns the events so far.
func (r *Recorder[T]) All() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// Role is what a test's binary does instead of the tests if its one argument names it, such as a client.
type Role = func(io.Reader, io.Writer) error

// Serve runs the role that the arguments select, if any.
func Serve(roles map[string]Role) (served bool) {
	if len(os.Args) != 2 || roles[os.Args[1]] == nil {
		return false
	}
	if err := roles[os.Args[1]](os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// Main is the TestMain of a package whose tests re-execute their own binary. The tests run with a temporary home
// folder, which keeps the clusters' records.
func Main(m *testing.M, roles map[string]Role) {
	if Serve(roles) {
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

// Harness starts this binary in the role "harness" and decodes its first line. The end of the test kills it. more
// decodes its further lines.
func Harness(t *testing.T, report any) (cmd *exec.Cmd, more *json.Decoder) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "harness")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	more = json.NewDecoder(out)
	require.NoError(t, more.Decode(report))
	return cmd, more
}

// Client makes a go-redis client with the options of the project's clients.
func Client(o *redis.Options) *redis.Client {
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.Protocol, o.DisableIdentity = -1, 1, true, 2, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o)
}

// Dial returns a client of a server with a password, for one test.
func Dial(t testing.TB, addr, password string) *redis.Client {
	t.Helper()
	c := Client(&redis.Options{Addr: addr, Password: password})
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
		stranger := Client(&redis.Options{Addr: addr})
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
		{"an intercept", nil, intercepts},
		{"a history", nil, records},
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

// Look reads a node's state.
func Look(t testing.TB, n cluster.Node) history.Node {
	t.Helper()
	seen, err := n.Look(ctx)
	require.NoError(t, err)
	return seen
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
	came, err := cluster.Poll(ctx, b, time.Minute, 10*time.Millisecond, func() (bool, error) { return condition(), nil })
	require.NoError(t, err)
	require.True(t, came, "it never came: "+what)
}

// settle is long compared with a round trip.
const settle = 100 * time.Millisecond
