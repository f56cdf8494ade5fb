package validate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/redlock"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// runner makes a question about a file of settings/testdata, with a TTL of one second and this restart delay.
func runner(t *testing.T, file string, away time.Duration, crashes ...settings.Crash) *Runner {
	t.Helper()
	o := deploy.Options{Delay: &away}
	if file != "" {
		o.Config = installed(t, filepath.Join("settings", "testdata", "redis", file))
	} else {
		o.Set = []string{"dir /var/lib/redis"}
	}
	d, err := deploy.Read(nil, o)
	require.NoError(t, err)
	if len(crashes) == 0 {
		crashes = settings.Crashes
	}
	return &Runner{
		Question: Question{Server: d.Server, TTLs: []time.Duration{time.Second}, Crashes: crashes, On: suite.Virtual,
			Trials: 6, Seed: 1, Drift: redlock.DefaultDrift},
		Suite: suite.Run, Observe: func(suite.Result) {}, Stage: func(string) {},
	}
}

// installed makes the paths of includes absolute. Redis resolves relative ones in its working
// folder, so that no verdict about them is certain.
func installed(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	folder, err := filepath.Abs(filepath.Dir(file))
	require.NoError(t, err)
	whole := regexp.MustCompile(`(?m)^include (\w)`).ReplaceAllString(string(text), "include "+folder+"/$1")
	if whole == string(text) {
		return file
	}
	file = filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
	return file
}

// about makes a question about files.
func about(t *testing.T, files ...string) *Runner {
	t.Helper()
	d, err := deploy.Read(files, deploy.Options{})
	require.NoError(t, err)
	a := runner(t, "", 0)
	a.Server = d.Server
	return a
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func judged(t *testing.T, a *Runner) *Answer {
	t.Helper()
	answer := &Answer{}
	require.NoError(t, a.Judge(context.Background(), answer))
	return answer
}

func advised(t *testing.T, a *Runner) *Answer {
	t.Helper()
	answer := judged(t, a)
	require.NoError(t, a.Advise(t.Context(), answer))
	return answer
}

func verdicts(a *Answer) []Verdict {
	var all []Verdict
	for _, r := range a.Rows {
		all = append(all, r.Verdict)
	}
	return all
}

// files are the nine configurations, with the verdicts of each after a kill, a
// shutdown and a power loss, and its overall verdict.
var files = []struct {
	file    string
	rows    []Verdict
	overall Verdict // in virtual time
	hazard  string
}{
	{"1-default.conf", []Verdict{Unsafe, Inconclusive, Unsafe}, Unsafe, ""},
	{"2-no-persistence.conf", []Verdict{Unsafe, Unsafe, Unsafe}, Unsafe, ""},
	{"3-everysec.conf", []Verdict{Safe, Safe, Unsafe}, Unsafe, ""},
	{"4-always.conf", []Verdict{Safe, Safe, Safe}, Safe, ""},
	{"5-no-fsync.conf", []Verdict{Safe, Safe, Unsafe}, Unsafe, ""},
	{"6-always-but-rewrites.conf", []Verdict{Safe, Safe, Safe}, Inconclusive, RewriteHazard},
	{"7-cache.conf", []Verdict{Unsafe, Unsafe, Unsafe}, Unsafe, Eviction},
	{"8-included.conf", []Verdict{Safe, Safe, Safe}, Safe, ""},
	{"9-durable-cache.conf", []Verdict{Safe, Safe, Safe}, Inconclusive, Eviction},
}

func TestTheNineFilesInVirtualTime(t *testing.T) {
	for _, f := range files {
		t.Run(f.file, func(t *testing.T) {
			a := runner(t, f.file, 0)
			answer := judged(t, a)
			require.Equal(t, f.rows, verdicts(answer))
			require.Equal(t, f.overall, answer.Verdict)
			require.Contains(t, fmt.Sprint(answer.Assumptions), "nobody runs FLUSHALL", "no file can confirm it")
			require.Contains(t, fmt.Sprint(answer.Assumptions), "deletes the lock, the server's data or their volume")
			for _, r := range answer.Rows {
				require.Equal(t, a.Trials, r.Tally.Decided())
				require.NotEmpty(t, r.Reason)
			}
			require.Equal(t, f.hazard != "", len(answer.Hazards) > 0)
			if f.hazard != "" {
				require.Equal(t, f.hazard, answer.Hazards[0].Name)
				require.Equal(t, Inconclusive, answer.Hazards[0].Verdict, "virtual time does not model it")
			}
		})
	}
}

func TestTheLongestTTLDecides(t *testing.T) {
	a := runner(t, "2-no-persistence.conf", 1100*time.Millisecond, settings.Kill)
	a.TTLs = []time.Duration{3 * time.Second, time.Second}
	answer := judged(t, a)
	require.Equal(t, []Verdict{Unsafe, Safe}, verdicts(answer))
	require.Equal(t, Unsafe, answer.Verdict)
}

func TestBoundary_TrialsViolateOnlyBelowIt(t *testing.T) {
	a := runner(t, "", 0)
	for _, p := range []cluster.Persistence{cluster.PersistNone, cluster.PersistRDB, cluster.PersistNo,
		cluster.PersistEverysec, cluster.PersistAlways} {
		for _, crash := range settings.Crashes {
			point := func(share float64) Point {
				return Point{Persistence: p, Crash: crash, TTL: 5 * time.Second,
					Delay: time.Duration(share * 5 * float64(time.Second))}
			}
			points := []Point{point(0), point(0.99), point(1.01), point(1.2)}
			tallies, err := a.tally(context.Background(), 1, len(points),
				func(i, n int) (suite.Job, error) { return points[i].job(n, a.Drift) })
			require.NoError(t, err)
			var given []bool
			for _, tally := range tallies {
				require.Equal(t, 1, tally.Decided(), tally.Why)
				given = append(given, tally.Violated == 1)
			}
			f := Forgets(p, crash)
			require.Equal(t, []bool{f, f, false, false}, given, "%s %s", p, crash)
		}
	}
}

// An append-only file on data that are lost with their container does not help.
func TestAdvise_DataLostWithContainer_NoAppendOnlyRunbook(t *testing.T) {
	for volume, helps := range map[string]bool{"tmpfs: [/data]": false, "volumes: ['data:/data']": true} {
		answer := advised(t, about(t, file(t, "compose.yaml", "services: {lock: {image: 'redis:7', command: [redis-server, "+
			"--save, ''], "+volume+"}}\nvolumes: {data: {}}\n")))
		require.Equal(t, Unsafe, answer.Verdict)
		require.Equal(t, helps, slices.ContainsFunc(answer.Runbooks,
			func(r Runbook) bool { return strings.Contains(r.Name, "appendfsync always") }), volume)
	}
}

func TestAdvise_LineThatIsThere_IsNotChanged(t *testing.T) {
	config := file(t, "redis.conf", "dir /var/lib/redis\nappendfsync always\nappendonly no\n")
	answer := advised(t, about(t, config))
	require.Equal(t, "an append-only file, appendfsync always", answer.Runbooks[0].Name)
	for _, s := range answer.Runbooks[0].Steps {
		require.False(t, s.Line != "" && s.Line == s.Was, "%v", s)
	}
}

// Debian's unit lets nothing run but its server.
func TestAdvise_UnitWithNoExecPaths_SleepRuns(t *testing.T) {
	const closed = "[Service]\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf\nRestart=always\nNoExecPaths=/\n" +
		"ExecPaths=/usr/bin/redis-server /usr/lib /lib\n"
	read := func(text string) *Runner {
		return about(t, file(t, "redis.service", text), file(t, "redis.conf", "save \"\"\ndir /var/lib/redis\n"))
	}
	line := ""
	for _, r := range advised(t, read(closed)).Runbooks {
		if strings.Contains(r.Steps[0].Line, "sleep") {
			line, _, _ = strings.Cut(r.Steps[0].Line, ",")
		}
	}
	require.Equal(t, []Verdict{Safe, Safe, Safe}, verdicts(judged(t, read(closed+line+"\n"))), line)
	require.Equal(t, []Verdict{Safe, Safe, Safe}, verdicts(judged(t, read(closed+strings.Replace(line, "+", "", 1)+"\n"))),
		"a sleep that cannot run fails the start, so that no server is there too early")
	require.Equal(t, []Verdict{Inconclusive, Inconclusive, Inconclusive},
		verdicts(judged(t, read(closed+strings.Replace(line, "+", "-", 1)+"\n"))), "a start that goes on without its sleep")
}

// Advise judges the server again with each change, and leaves out changes that do not help.
func TestAdvise_OnlyRunbooksThatHelp(t *testing.T) {
	var names []string
	for _, r := range advised(t, runner(t, "7-cache.conf", 0)).Runbooks {
		names = append(names, r.Name)
		require.NotEmpty(t, r.Price)
		require.NotEmpty(t, r.Check)
		require.NotEmpty(t, r.Back)
		require.Zero(t, r.Tally.Violated)
	}
	require.Equal(t, []string{"an append-only file, appendfsync always", "a start that waits for 2 s",
		"a restart guard in the clients", "fencing"}, names)
}

func TestCrashMoments_SpreadOverALease(t *testing.T) {
	require.Equal(t, moment{tick: 300 * time.Millisecond, worst: true}, crashMoment(0))
	var shares []float64
	for n := 1; n < 64; n++ {
		m := crashMoment(n)
		require.False(t, m.worst)
		require.Greater(t, m.share, 0.0)
		require.Less(t, m.share, lastCrash)
		require.Less(t, m.tick, time.Second)
		shares = append(shares, m.share)
	}
	slices.Sort(shares)
	for i := 1; i < len(shares); i++ {
		require.InDelta(t, lastCrash/64, shares[i]-shares[i-1], 1e-9)
	}
}
