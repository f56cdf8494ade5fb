package checker_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// Runs of the catalogue in which, from some time on, the lock is granted to nobody any
// more, although everybody goes on asking, do not tolerate faults; whether the attempts
// fail, as if the lock had split its votes for ever, or never return.
func TestALockThatIsGrantedToNobodyAnyMore(t *testing.T) {
	for _, name := range []string{"minority-down", "healthy-contention", "healthy-contention--with-fencing-tokens"} {
		for _, hung := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hung: %v", name, hung), func(t *testing.T) {
				text, err := os.ReadFile("../reports/published/virtual/trials/" + name + "/000/history.jsonl")
				require.NoError(t, err)
				events, err := history.Read(bytes.NewReader(text))
				require.NoError(t, err)
				require.Equal(t, history.Holds, faultTolerance(t, events).Verdict, "as it was")

				r := faultTolerance(t, grantedUntil(events, 2_000_000_000, hung))
				require.Equal(t, history.Violated, r.Verdict, r.Reason)
				require.Contains(t, r.Violations[0].What, "nor its rivals")
			})
		}
	}
}

func faultTolerance(t *testing.T, events []history.Event) checker.Result {
	t.Helper()
	verdict, err := checker.Judge(checker.InMemory(events))
	require.NoError(t, err)
	return verdict.Of(checker.FaultTolerance)
}

// grantedUntil makes every later acquire fail; or never return, and its client do nothing
// any more. What was done under the leases goes with them; what the nodes were asked and
// answered stays.
func grantedUntil(events []history.Event, last int64, hung bool) []history.Event {
	type lease struct {
		client string
		id     int
	}
	void, silent := map[lease]bool{}, map[string]bool{}
	var kept []history.Event
	for _, e := range events {
		client := e.Op != ""
		switch {
		case client && (void[lease{e.Process, e.Lease}] || silent[e.Process]):
			continue
		case e.Type == history.TypeOK && e.Op == history.OpAcquire && e.Time > last:
			void[lease{e.Process, e.Lease}] = true
			silent[e.Process] = hung
			if hung {
				continue
			}
			e = history.Event{Time: e.Time, Process: e.Process, Type: history.TypeFail, Op: e.Op, ID: e.ID, Key: e.Key,
				Reason: history.ReasonHeld}
		}
		kept = append(kept, e)
	}
	return kept
}
