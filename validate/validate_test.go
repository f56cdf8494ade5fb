package validate

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/suite"
	"lockproof/redlock"
	"lockproof/validate/settings"
)

// asker asks about a file of settings/testdata with a TTL of one second.
func asker(t *testing.T, file string, p settings.Policy, crashes ...settings.Crash) *Asker {
	t.Helper()
	if file != "" {
		file = installed(t, filepath.Join("settings", "testdata", "redis", file))
	}
	r, err := settings.Disk.ReadRedis(file, nil)
	require.NoError(t, err)
	if len(crashes) == 0 {
		crashes = settings.Crashes
	}
	return &Asker{
		Question: Question{Redis: r, Policy: p, TTLs: []time.Duration{time.Second}, Crashes: crashes, On: suite.Virtual,
			Trials: 6, Seed: 1, Drift: redlock.DefaultDrift},
		Suite: suite.Run,
	}
}

// installed is a file as an operator has it: what it includes has a whole path. Redis looks
// for a relative one in the folder that it was started in, so that nothing is sure of it.
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

// atOnce brings every node back at once.
func atOnce() settings.Policy { return settings.Delayed(0, "at once") }

// judged is the answer to an asker's question.
func judged(t *testing.T, a *Asker) *Answer {
	t.Helper()
	answer := &Answer{}
	require.NoError(t, a.Judge(context.Background(), answer))
	return answer
}

// verdicts are those of the rows, in the order of the crashes.
func verdicts(a *Answer) []Verdict {
	var all []Verdict
	for _, r := range a.Rows {
		all = append(all, r.Verdict)
	}
	return all
}

// counting counts the trials of a suite.
func counting(a *Asker) (count func() int) {
	var mu sync.Mutex
	n := 0
	a.Observe = func(suite.Result) {
		mu.Lock()
		defer mu.Unlock()
		n++
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// files are the nine configurations, with what is to be said of each after a
// kill, a shutdown and a power loss, and of the whole.
var files = []struct {
	file    string
	rows    []Verdict
	overall Verdict // in virtual time
	hazard  string
}{
	{"1-default.conf", []Verdict{Unsafe, Safe, Unsafe}, Unsafe, ""},
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
			a := asker(t, f.file, atOnce())
			answer := judged(t, a)
			require.Equal(t, f.rows, verdicts(answer))
			require.Equal(t, f.overall, answer.Verdict)
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

func TestALongDelayMakesEveryFileSafe(t *testing.T) {
	for _, f := range files {
		a := asker(t, f.file, settings.Delayed(1100*time.Millisecond, "--restart-delay"))
		a.Trials = 3
		answer := judged(t, a)
		require.Equal(t, []Verdict{Safe, Safe, Safe}, verdicts(answer), f.file)
	}
}

func TestTheLongestTTLDecides(t *testing.T) {
	a := asker(t, "2-no-persistence.conf", settings.Delayed(1100*time.Millisecond, "--restart-delay"), settings.Kill)
	a.TTLs = []time.Duration{3 * time.Second, time.Second}
	answer := judged(t, a)
	require.Equal(t, []Verdict{Unsafe, Safe}, verdicts(answer))
	require.Equal(t, Unsafe, answer.Verdict)
}

// No crash that the settings survive in virtual time may be one that the
// boundary calls unsafe, nor the other way about, wherever the delay is.
func TestTheBoundaryIsWhereItIsPredicted(t *testing.T) {
	a := asker(t, "", atOnce())
	for _, p := range Persistences {
		for _, crash := range settings.Crashes {
			point := func(share float64) Point {
				return Point{Persistence: p, Crash: crash, TTL: 5 * time.Second, Delay: time.Duration(share * 5 * float64(time.Second))}
			}
			tallies, err := a.tally(context.Background(), []Point{point(0), point(0.99), point(1.01), point(1.2)}, 0, 1,
				suite.Virtual, false)
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

func TestTheFrontierAgreesWithThePrediction(t *testing.T) {
	a := asker(t, "", atOnce())
	count := counting(a)
	f, err := a.Measure(context.Background(), 1)
	require.NoError(t, err)
	require.Equal(t, len(f.Panels)*len(f.TTLs)*len(f.Shares), 15*3*columns)
	require.Equal(t, f.Trials, count(), "each trial that is told of was run")
	require.Zero(t, f.Inconclusive)
	require.Zero(t, f.SafeSide, "violations on the safe side")
	found := 0
	for _, p := range f.Panels {
		for _, e := range p.Edges {
			require.Equal(t, Forgets(p.Persistence, p.Crash), e.Shortest > 0, "%s %s", p.Persistence, p.Crash)
			if e.Shortest > 0 {
				found++
				require.Less(t, e.Off(), 0.02, "%s %s %s", p.Persistence, p.Crash, e.TTL)
				require.Less(t, float64(e.Shortest-e.Longest), 0.003*float64(e.TTL))
			}
		}
	}
	require.Equal(t, 7*3, found)
}

func TestFindDelay(t *testing.T) {
	a := asker(t, "3-everysec.conf", atOnce())
	found, err := a.FindDelay(context.Background(), 20)
	require.NoError(t, err)
	require.Len(t, found, 3)
	for _, f := range found[:2] {
		require.Zero(t, f.Delay, "nothing is forgotten")
		require.Equal(t, 20, f.Tally.Held)
	}
	f := found[2]
	require.InDelta(t, 1.01, f.Delay.Seconds(), 0.02)
	require.InDelta(t, f.Delay.Seconds(), f.Violated.Seconds(), 0.011)
	require.Equal(t, 20, f.Tally.Held)
}

func TestAdviceIsTriedAndSafe(t *testing.T) {
	a := asker(t, "7-cache.conf", atOnce())
	answer := judged(t, a)
	require.NoError(t, a.Advise(context.Background(), answer))
	require.Len(t, answer.Advice, 3)
	require.Equal(t, []string{"maxmemory-policy noeviction", "sleep 2 before redis-server, at every start"}, answer.Advice[0].Lines)
	require.Equal(t, []string{"redlock.New(nodes, redlock.WithRestartGuard(1*time.Second))",
		"and in settings/testdata/redis/7-cache.conf:", "maxmemory-policy noeviction"}, answer.Advice[1].Lines)
	lines := answer.Advice[2].Lines
	require.Equal(t, []string{"maxmemory-policy noeviction", "appendonly yes", "appendfsync always"}, lines)
	for _, advice := range answer.Advice {
		require.NotEmpty(t, advice.Cost)
		require.Zero(t, advice.Tally.Violated)
		require.Equal(t, 3*adviceTrials, advice.Tally.Held)
	}

	// Followed, it is safe.
	r, err := settings.Disk.ReadRedis("settings/testdata/redis/7-cache.conf", lines)
	require.NoError(t, err)
	a.Redis = r
	require.Equal(t, Safe, judged(t, a).Verdict)
}

func TestClocksAndPauses(t *testing.T) {
	a := asker(t, "", atOnce())
	drifts, err := a.Drifts(context.Background())
	require.NoError(t, err)
	require.Len(t, drifts, 2)
	for _, l := range drifts {
		require.Empty(t, l.Why)
		require.GreaterOrEqual(t, l.Held, l.Predicted-0.0005, "the rule's promise is kept: %s", l.What)
		require.Less(t, l.Violated, l.Predicted+0.005, l.What)
	}
	pauses, err := a.Pauses(context.Background())
	require.NoError(t, err)
	require.Len(t, pauses, 3)
	for _, l := range pauses {
		require.Empty(t, l.Why)
		require.InDelta(t, l.Predicted, l.Held, 0.01*float64(time.Second), l.What)
		require.Less(t, l.Violated-l.Held, 0.01*float64(time.Second), l.What)
	}
}

func TestAvailabilityIsTheDelay(t *testing.T) {
	a := asker(t, "2-no-persistence.conf", settings.Delayed(1500*time.Millisecond, "--restart-delay"), settings.Kill)
	answer := &Answer{}
	require.NoError(t, a.Availability(context.Background(), answer))
	require.Len(t, answer.Gaps, 1)
	require.InDelta(t, 1.5, answer.Gaps[0].Longest.Seconds(), 0.2)
}

func TestMomentsSpreadOverALease(t *testing.T) {
	require.Equal(t, moment{tick: 300 * time.Millisecond, worst: true}, nth(0))
	var shares []float64
	for n := 1; n < 64; n++ {
		m := nth(n)
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
