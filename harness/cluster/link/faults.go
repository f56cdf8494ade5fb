package link

import (
	"fmt"
	"time"

	"example.org/lockproof/harness/history"
)

// ways lists our indices of a direction's flows.
func ways(d history.Direction) []int {
	switch d {
	case history.ToNode:
		return []int{toNode}
	case history.ToClient:
		return []int{toClient}
	}
	return []int{toNode, toClient}
}

// each does something to the flows of a direction; what is due then goes on.
func (l *Link) each(way int, do func(*flow)) {
	for _, c := range l.inOrder() {
		do(c.flows[way])
		c.flows[way].schedule()
	}
}

// Cut holds all traffic of a direction until Heal. Under TCP a partition does
// not lose bytes: what was sent into it is sent again, and arrives after it.
// Cuts add up: a link that was cut twice wants to be healed twice.
func (l *Link) Cut(d history.Direction) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, way := range ways(d) {
		l.cuts[way]++
	}
	return nil
}

// Heal ends a Cut; what was held goes on at once.
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

// Delay adds a one-way delay, in whole milliseconds; 0 removes it.
func (l *Link) Delay(d history.Direction, by time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setDelay(d, max(0, by.Truncate(time.Millisecond)))
	return nil
}

// setDelay sets the delay of messages that set out from now on; those that one delayed go on at once.
func (l *Link) setDelay(d history.Direction, by time.Duration) {
	for _, way := range ways(d) {
		if l.delays[way] != by {
			l.delays[way] = by
			l.each(way, (*flow).hurry)
		}
	}
}
