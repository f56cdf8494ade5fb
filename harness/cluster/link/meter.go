package link

import (
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
)

// gauge follows the messages of one direction from our toxic, at the head of
// the chain, to the end that they are written to: what toxiproxy's toxics do to
// them lies between.
type gauge struct {
	mu     sync.Mutex
	meters []*meter
}

// meter is one Measure: what left the head of the chain before it is none of
// its business, for a fault that was put in place just before cannot touch it.
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

// setOut notes that a message leaves the head of the chain now.
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

// passed notes a message that left the head of the chain at some time, and is
// at the end now.
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

// inTransit is one message between the head of the chain and the end.
type inTransit struct {
	until int // bytes of the flow up to its end
	left  time.Time
}

// leaves notes that a message is about to go from the toxic into the chain.
func (f *flow) leaves(size int) {
	f.transitMu.Lock()
	defer f.transitMu.Unlock()
	f.out += size
	f.transits = append(f.transits, inTransit{until: f.out, left: time.Now()})
	f.conn.link.gauges[f.direction].setOut()
}

// arrives notes bytes written at the end: toxiproxy may join or cut messages
// on the way, so they are told apart by their place in the stream.
func (f *flow) arrives(size int) {
	f.transitMu.Lock()
	defer f.transitMu.Unlock()
	f.in += size
	for len(f.transits) > 0 && f.transits[0].until <= f.in {
		f.conn.link.gauges[f.direction].passed(f.transits[0].left)
		f.transits = rest(f.transits)
	}
}
