package validate

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/checker"
	"lockproof/harness/suite"
	"lockproof/internal/needs"
	"lockproof/validate/settings"
)

// takeoverPoint is one takeover of a master, with a lock of two seconds.
type takeoverPoint struct {
	takeover Takeover
	when     string // what the nth trial is, in words
	nth      int
	after    time.Duration // from the master's silence to the promotion
	replicas int
	wait     int
	lines    string // of the master's redis.conf
	lost     bool   // predicted: the lock is given away
}

// takeoverTTL is that of the points' locks: short, and long enough for a promotion within a
// part of it on a busy machine.
const takeoverTTL = 2 * time.Second

const needsOne = "min-replicas-to-write 1"

// twenty are points on both sides of what makes a takeover safe.
var twenty = []takeoverPoint{
	{MasterDies, "at once", 0, 0, 1, 0, "", true},
	{MasterDies, "at once", 0, 500 * time.Millisecond, 1, 0, "", true},
	{MasterDies, "at once", 0, 1500 * time.Millisecond, 1, 0, "", true},
	{MasterDies, "at once", 0, 2300 * time.Millisecond, 1, 0, "", false},
	{MasterDies, "at once", 0, 4 * time.Second, 1, 0, "", false},
	{MasterDies, "0.45 TTL later", 1, 0, 1, 0, "", true},
	{MasterDies, "at once", 0, 0, 1, 1, "", false},
	{MasterDies, "at once", 0, 0, 2, 1, "", true},
	{MasterDies, "at once", 0, 0, 2, 2, "", false},
	{MasterDies, "at once", 0, 0, 1, 0, needsOne, true},
	{ByHand, "after the lock", 0, 0, 1, 0, "", true},
	{ByHand, "before the lock", 1, 0, 1, 0, "", true},
	{ByHand, "after the lock", 0, 0, 1, 1, "", false},
	{ByHand, "before the lock", 1, 0, 1, 1, "", false},
	{TwoMasters, "locked after it", 0, 0, 1, 0, "", true},
	{TwoMasters, "locked after it", 0, time.Second, 1, 0, "", true},
	{TwoMasters, "locked after it", 0, time.Second, 1, 1, "", false},
	{TwoMasters, "locked after it", 0, 10 * time.Second, 1, 0, needsOne + ", min-replicas-max-lag 2", false},
	{TwoMasters, "locked after it", 0, 2 * time.Second, 1, 0, needsOne + ", min-replicas-max-lag 10", true},
	{TwoMasters, "locked before it", 1, 5 * time.Second, 1, 0, needsOne + ", min-replicas-max-lag 1", false},
}

// job is the point's trial.
func (p takeoverPoint) job(t *testing.T) suite.Job {
	t.Helper()
	lines := strings.ReplaceAll(p.lines, ", ", "\n")
	a := takenOver(t, lines, settings.Failover{Replicas: p.replicas, After: p.after, Why: "as it is set"}, p.wait)
	return a.takeover(TakeoverRow{Takeover: p.takeover, TTL: takeoverTTL, After: p.after}, p.nth)
}

// row is the point's line in the document, with what was predicted and measured.
func (p takeoverPoint) row() string {
	lock := "kept"
	if p.lost {
		lock = "given away"
	}
	lines := "`" + p.lines + "`"
	if p.lines == "" {
		lines = ""
	}
	return fmt.Sprintf("| `%s` | %s | %s | %d | %d | %s | %s | %s |\n", p.takeover, p.when, p.after, p.replicas, p.wait, lines, lock, lock)
}

// name is the point's name as a test.
func (p takeoverPoint) name() string {
	return fmt.Sprintf("%s %s, after %s, %d replicas, WAIT %d, %s", p.takeover, p.when, p.after, p.replicas, p.wait, p.lines)
}

// outcome says whether the lock was given away in one trial on a cluster, which is tried again
// where it decides nothing.
func (p takeoverPoint) outcome(t *testing.T, on string) (lost bool) {
	t.Helper()
	var tally Tally
	for range 5 {
		o := suite.Options{Cluster: on, Trials: 1, Seed: 1, Retries: suite.DefaultRetries}
		results, err := suite.Run(context.Background(), []suite.Job{p.job(t)}, o, func(suite.Result) {})
		require.NoError(t, err)
		for _, r := range results {
			tally.count(r, checker.MutualExclusion)
		}
		if tally.Decided() > 0 {
			return tally.Violated > 0
		}
	}
	require.Fail(t, "no trial decided", "%s on %s: %s", p.row(), on, tally.Why)
	return false
}

func TestTwentyTakeoversInVirtualTime(t *testing.T) {
	for _, p := range twenty {
		require.Equal(t, p.lost, p.outcome(t, suite.Virtual), p.row())
	}
}

// TestTwentyTakeoversOnRealRedis measures on real servers what virtual time predicts.
func TestTwentyTakeoversOnRealRedis(t *testing.T) {
	needs.Length(t)
	needRedis(t)
	for _, p := range twenty {
		t.Run(p.name(), func(t *testing.T) { require.Equal(t, p.lost, p.outcome(t, suite.Local)) })
	}
}

func TestTheDocumentHasTheTwentyTakeovers(t *testing.T) {
	require.Len(t, twenty, 20)
	var rows strings.Builder
	for _, p := range twenty {
		rows.WriteString(p.row())
	}
	text, err := os.ReadFile("../docs/validate.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(text), rows.String()), "put these rows into docs/validate.md:\n%s", &rows)
}
