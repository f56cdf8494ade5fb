package link

import (
	"fmt"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// ways lists the flow indices of a direction.
func ways(d history.Direction) []int {
	switch d {
	case history.ToNode:
		return []int{toNode}
	case history.ToClient:
		return []int{toClient}
	}
	return []int{toNode, toClient}
}

// each changes the flows of a direction and delivers messages that are due then.
func (l *Link) each(way int, do func(*flow)) {
	for _, c := range l.inOrder() {
		do(c.flows[way])
		c.flows[way].schedule()
	}
}

// Cut holds all traffic of a direction until Heal. Under TCP a partition loses no bytes: they are retransmitted and
// arrive after it. Cuts add up: a link that was cut twice must be healed twice.
func (l *Link) Cut(d history.Direction) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, way := range ways(d) {
		l.cuts[way]++
	}
	return nil
}

// Heal ends a Cut and delivers held messages at once.
func (l *Link) Heal(d history.Direction) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, way := range ways(d) {
		if l.cuts[way] == 0 {
			return fmt.Errorf("link %s is not cut", l.Name())
		}
		l.cuts[way]--
		l.each(way, func(*flow) {})
	}
	return nil
}

// Delay adds to the one-way delay of messages sent from now on. It delivers messages under an earlier delay at once.
func (l *Link) Delay(d history.Direction, by time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, way := range ways(d) {
		before := l.delay(way)
		if l.delays[way] += by; l.delay(way) != before {
			l.each(way, (*flow).hurry)
		}
	}
	return nil
}

// delay is the delay in effect, in whole milliseconds.
func (l *Link) delay(way int) time.Duration { return max(0, l.delays[way].Truncate(time.Millisecond)) }

// meter is one Measure of a direction. It measures messages from sending to arrival, which cuts and delays prolong. It
// ignores messages sent before it began: a fault that has just begun cannot affect those.
type meter struct {
	since time.Time
	cluster.Traffic
}

// Measure measures the traffic in a direction, or in both together, from now on.
func (l *Link) Measure(d history.Direction) func() cluster.Traffic {
	m := &meter{since: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, way := range ways(d) {
		l.meters[way] = append(l.meters[way], m)
	}
	return func() cluster.Traffic {
		l.mu.Lock()
		defer l.mu.Unlock()
		return m.Traffic
	}
}

// setOut counts a message sent now.
func (m *meter) setOut() {
	m.SetOut++
	if len(m.First) < cluster.FirstMessages {
		m.First = append(m.First, time.Now())
	}
}

// passed counts a message that was sent at time left and arrives now.
func (m *meter) passed(left time.Time) {
	if left.Before(m.since) {
		return
	}
	if took := time.Since(left); m.Messages == 0 || took < m.Shortest {
		m.Shortest = took
	}
	m.Messages++
}
