package validate

import (
	"context"
	"fmt"
	"time"

	"lockproof/harness/cluster"
	"lockproof/validate/settings"
)

// longestGap is how long a majority that is down keeps everybody from the lock,
// in the worst of the question's crashes.
func (a *Asker) longestGap(ctx context.Context) (time.Duration, error) {
	var found Answer
	err := a.Availability(ctx, &found)
	longest := time.Duration(0)
	for _, g := range found.Gaps {
		longest = max(longest, g.Longest)
	}
	return longest, err
}

// cost says what a change costs, measured where it was measured.
func (a *Asker) cost(c *change, answer *Answer, gap time.Duration) string {
	now, then := PersistenceOf(a.Redis), PersistenceOf(c.asker.Redis)
	switch {
	case c.guard:
		away := wholeSeconds(Boundary(a.Longest(), a.Drift)) + 2*time.Second
		return fmt.Sprintf("nothing with each lock; a node that went down has no vote for up to %s, "+
			"and if a majority did, nobody gets a lock for as long", away)
	case c.sleep > 0:
		return fmt.Sprintf(
			"nothing with each lock; a node that went down is away for %s, and if a majority did, nobody gets a lock for %s (measured)",
			c.asker.Policy.Returns[settings.Shutdown].After, gap.Round(100*time.Millisecond))
	case now != then:
		if from, to := answer.Throughput.Of(now), answer.Throughput.Of(then); from > 0 && to > 0 {
			return fmt.Sprintf("%s instead of %s locks a second on one connection of this machine's disk (fdatasync %s)",
				thousands(to), thousands(from), answer.Throughput.Fdatasync.Round(time.Microsecond))
		}
		if then == cluster.PersistAlways {
			return "each lock waits for the disk"
		}
		return "each lock is written to a file"
	}
	for _, h := range answer.Hazards {
		if h.Name == Eviction {
			return "a full node refuses writes, locks among them, instead of evicting other keys"
		}
	}
	return "while the file is rewritten, each lock waits for a disk that is busy"
}

// thousands writes a rate: 860, 4.9k, 42k.
func thousands(rate float64) string {
	switch {
	case rate < 1000:
		return fmt.Sprintf("%.0f", rate)
	case rate < 10_000:
		return fmt.Sprintf("%.1fk", rate/1000)
	}
	return fmt.Sprintf("%.0fk", rate/1000)
}
