package link

import (
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// meter is one Measure of a direction, from when its messages set out to when they arrive: what cuts and delays do to
// them lies between. What set out before it is none of its business: a fault that has just begun cannot touch that.
type meter struct {
	since time.Time
	cluster.Traffic
}

// Measure watches what passes in a direction from now on.
func (l *Link) Measure(d history.Direction) func() cluster.Traffic {
	m := &meter{since: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	way := ways(d)[0]
	l.meters[way] = append(l.meters[way], m)
	return func() cluster.Traffic {
		l.mu.Lock()
		defer l.mu.Unlock()
		return m.Traffic
	}
}

// setOut notes that a message sets out now.
func (m *meter) setOut() {
	m.SetOut++
	if len(m.First) < cluster.FirstMessages {
		m.First = append(m.First, time.Now())
	}
}

// passed notes a message that set out at some time, and arrives now.
func (m *meter) passed(left time.Time) {
	if left.Before(m.since) {
		return
	}
	if took := time.Since(left); m.Messages == 0 || took < m.Shortest {
		m.Shortest = took
	}
	m.Messages++
}
