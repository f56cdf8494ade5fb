package nemesis

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

const (
	// rateProbe is the duration of one rate measurement. A small requested change needs several, up to longestProbe.
	rateProbe    = 20 * time.Millisecond
	longestProbe = time.Second
	// clockSamples is the least number of reads for one reading of a node's clock: the fastest counts. While none is fast
	// enough for two readings to show a jump, more are made, for up to longestReading.
	clockSamples   = 3
	fastEnough     = jumpSlack / 2
	longestReading = 100 * time.Millisecond
	// jumpSlack and rateSlack are the tolerated errors of a measured clock: on real machines, a read takes time.
	jumpSlack = 5 * time.Millisecond
	rateSlack = 0.1
	// rateError is the desired accuracy of a measured rate.
	rateError = 0.01
)

// rateMatches reports whether the measured rate shows the requested rate, and not the previous one.
func rateMatches(measured, asked, before float64) bool {
	off := math.Abs(measured - asked)
	return off <= rateSlack && (asked == before || off < math.Abs(measured-before))
}

// noteClock records a node's clock after it was set.
func (n *Nemesis) noteClock(node string, r Reading) {
	n.mu.Lock()
	n.clocks[node] = r
	n.mu.Unlock()
	n.record(history.Event{Time: r.True, Process: node, Type: history.TypeClock,
		Clock: &history.Clock{Reading: r.Wall, Rate: r.Rate, Wall: true}})
}

// clockSurvived reports whether a restarted node has the clock that was set before, also while it was down, and
// measures its offset. It does not read a clock that was never set.
func (n *Nemesis) clockSurvived(ctx context.Context, node string, measured map[string]string) (bool, error) {
	n.mu.Lock()
	was, set := n.clocks[node]
	n.mu.Unlock()
	if !set {
		return true, nil
	}
	now, err := n.readClock(ctx, node)
	if err != nil {
		return false, err
	}
	measured["clock ahead"] = time.Duration(now.Wall - now.True).String()
	due := was.Wall + int64(float64(now.True-was.True)*was.Rate)
	return time.Duration(now.Wall-due).Abs() <= jumpSlack, nil
}

// rateDifference is the difference that a rate measurement must show.
func rateDifference(asked, before float64) float64 {
	if asked == before {
		return rateSlack
	}
	return math.Abs(asked - before)
}

// measureRate watches a clock until its readings are accurate enough to show the difference in rate.
func (n *Nemesis) measureRate(ctx context.Context, read func(context.Context) (Reading, error), from Reading,
	difference float64) (float64, error) {
	began := from.True
	for {
		if err := n.cluster.Sleep(ctx, rateProbe); err != nil {
			return 0, err
		}
		to, err := read(ctx)
		if err != nil {
			return 0, err
		}
		watched := float64(to.True - from.True)
		unsure := float64(from.Uncertainty+to.Uncertainty) / watched
		if unsure <= min(difference/2, rateError) || to.True-began >= int64(longestProbe) {
			return float64(to.Wall-from.Wall) / watched, nil
		}
		if to.Uncertainty < from.Uncertainty/2 {
			from = to // a better reading to begin at: the machine was busy before
		}
	}
}

func roundRate(x float64) float64 { return math.Round(x*1e6) / 1e6 }

func formatRate(x float64) string { return strconv.FormatFloat(roundRate(x), 'f', -1, 64) }

// readClock reads the clock of a client or a node.
func (n *Nemesis) readClock(ctx context.Context, target string) (Reading, error) {
	if n.clientNames[target] {
		return n.clients.SetClock(ctx, target, 0, 0)
	}
	node, err := n.node(target)
	if err != nil {
		return Reading{}, err
	}
	return n.readNodeClock(ctx, node)
}

// setClock makes the clock of a client or a node jump, and sets its rate (0 keeps it).
func (n *Nemesis) setClock(ctx context.Context, target string, jump time.Duration, rate float64) error {
	if n.clientNames[target] {
		_, err := n.clients.SetClock(ctx, target, jump, rate)
		return err
	}
	node, err := n.node(target)
	if err != nil {
		return err
	}
	return node.SetClock(ctx, jump, rate)
}

// readNodeClock reads a node's clock between two readings of the true clock.
func (n *Nemesis) readNodeClock(ctx context.Context, node cluster.Node) (best Reading, err error) {
	rate := 1.0
	n.mu.Lock()
	if was, set := n.clocks[node.Name()]; set {
		rate = was.Rate
	}
	n.mu.Unlock()
	first := n.cluster.Now()
	slow := func() bool {
		return best.Uncertainty > int64(fastEnough) && n.cluster.Now()-first < int64(longestReading)
	}
	for i := 0; i < clockSamples || slow(); i++ {
		began := n.cluster.Now()
		wall, err := node.Clock(ctx)
		if err != nil {
			return Reading{}, fmt.Errorf("read its clock: %w", err)
		}
		ended := n.cluster.Now()
		r := Reading{True: (began + ended) / 2, Wall: wall, Rate: rate, Uncertainty: (ended - began) / 2}
		if i == 0 || r.Uncertainty < best.Uncertainty {
			best = r
		}
	}
	return best, nil
}
