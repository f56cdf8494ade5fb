package link

import (
	"fmt"
	"time"

	"example.org/lockproof/harness/cluster"
)

// ways lists our indices of a direction's flows.
func ways(d cluster.Direction) []int {
	switch d {
	case cluster.ToNode:
		return []int{toNode}
	case cluster.ToClient:
		return []int{toClient}
	}
	return []int{toNode, toClient}
}

// Cut holds all traffic of a direction until Heal. Under TCP a partition does
// not lose bytes: what was sent into it is sent again, and arrives after it.
// Cuts add up: a link that was cut twice wants to be healed twice.
func (l *Link) Cut(d cluster.Direction) error {
	l.faults.Lock()
	defer l.faults.Unlock()
	for _, way := range ways(d) {
		if l.cuts[way]++; l.cuts[way] == 1 {
			l.each(way, func(f *flow) { f.hold(true) })
		}
	}
	return nil
}

// Heal ends a Cut; what was held goes on at once.
func (l *Link) Heal(d cluster.Direction) error {
	l.faults.Lock()
	defer l.faults.Unlock()
	for _, way := range ways(d) {
		if l.cuts[way] == 0 {
			return fmt.Errorf("link %s is not cut", l.Name())
		}
		if l.cuts[way]--; l.cuts[way] == 0 {
			l.each(way, func(f *flow) { f.hold(false) })
		}
	}
	return nil
}

// Delay adds a one-way delay, in whole milliseconds; 0 removes it.
func (l *Link) Delay(d cluster.Direction, by time.Duration) error {
	by = max(0, by.Truncate(time.Millisecond))
	l.faults.Lock()
	defer l.faults.Unlock()
	for _, way := range ways(d) {
		if l.delays[way] != by {
			l.delays[way] = by
			l.each(way, func(f *flow) { f.slow(by) })
		}
	}
	return nil
}

// reset ends every fault, so that connections can end.
func (l *Link) reset() {
	l.faults.Lock()
	l.cuts, l.delays = [2]int{}, [2]time.Duration{}
	for _, way := range ways(cluster.Both) {
		l.each(way, func(f *flow) {
			f.hold(false)
			f.slow(0)
		})
	}
	l.faults.Unlock()
	l.LetGo()
}
