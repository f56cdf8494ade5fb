package link

import (
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
)

// gauge follows the messages of one direction from when they set out to when they arrive: what cuts and delays do to
// them lies between.
type gauge struct {
	mu     sync.Mutex
	meters []*meter
}

// meter is one Measure: what set out before it is none of its business, for a fault that was put in place just before
// cannot touch it.
type meter struct {
	since time.Time
	cluster.Traffic
}

// Measure watches what passes in a direction from now on.
func (l *Link) Measure(d cluster.Direction) func() cluster.Traffic {
	g := &l.gauges[toNode]
	if d == cluster.ToClient {
		g = &l.gauges[toClient]
	}
	m := &meter{since: time.Now()}
	g.mu.Lock()
	g.meters = append(g.meters, m)
	g.mu.Unlock()
	return func() cluster.Traffic {
		g.mu.Lock()
		defer g.mu.Unlock()
		return m.Traffic
	}
}

// setOut notes that a message sets out now.
func (g *gauge) setOut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.meters {
		m.SetOut++
		if len(m.First) < cluster.FirstMessages {
			m.First = append(m.First, time.Now())
		}
	}
}

// passed notes a message that set out at some time, and arrives now.
func (g *gauge) passed(left time.Time) {
	took := time.Since(left)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.meters {
		if left.Before(m.since) {
			continue
		}
		if m.Messages == 0 || took < m.Shortest {
			m.Shortest = took
		}
		m.Messages++
	}
}
