package link

import (
	"fmt"
	"time"

	"example.org/lockproof/harness/cluster"
)

// forever is the lag of a cut: longer than any run.
const forever = 1000 * time.Hour

// ways lists toxiproxy's names for the streams of a direction, with our index
// of each.
func ways(d cluster.Direction) map[int]string {
	switch d {
	case cluster.ToNode:
		return map[int]string{toNode: "upstream"}
	case cluster.ToClient:
		return map[int]string{toClient: "downstream"}
	}
	return map[int]string{toNode: "upstream", toClient: "downstream"}
}

// Cut holds all traffic of a direction until Heal. Under TCP a partition does
// not lose bytes: what was sent into it is sent again, and arrives after it.
// Cuts add up: a link that was cut twice wants to be healed twice.
func (l *Link) Cut(d cluster.Direction) error {
	l.chain.Lock()
	defer l.chain.Unlock()
	for i, way := range ways(d) {
		if l.cuts[i]++; l.cuts[i] > 1 {
			continue
		}
		if err := l.cut(i, way, true); err != nil {
			return err
		}
	}
	return nil
}

// Heal ends a Cut; what was held goes on at once.
func (l *Link) Heal(d cluster.Direction) error {
	l.chain.Lock()
	defer l.chain.Unlock()
	for i, way := range ways(d) {
		if l.cuts[i] == 0 {
			return fmt.Errorf("link %s is not cut", l.Name())
		}
		if l.cuts[i]--; l.cuts[i] > 0 {
			continue
		}
		if err := l.cut(i, way, false); err != nil {
			return err
		}
	}
	return nil
}

// Delay adds a one-way delay, in whole milliseconds; 0 removes it.
func (l *Link) Delay(d cluster.Direction, by time.Duration) error {
	l.chain.Lock()
	defer l.chain.Unlock()
	for i, way := range ways(d) {
		if err := l.slow(i, way, max(0, by.Truncate(time.Millisecond))); err != nil {
			return err
		}
	}
	return nil
}

// cut holds a direction's traffic, or lets it go. The caller holds the chain's lock.
func (l *Link) cut(direction int, way string, on bool) error {
	if l.cfg.Direct != nil {
		for _, lane := range l.lanes(direction) {
			lane.hold(on)
		}
		return nil
	}
	by := time.Duration(0)
	if on {
		by = forever
	}
	return l.proxy.lag("cut-"+way, way, by)
}

// slow sets a direction's delay. The caller holds the chain's lock.
func (l *Link) slow(direction int, way string, by time.Duration) error {
	if l.delays[direction] == by {
		return nil
	}
	l.delays[direction] = by
	if l.cfg.Direct != nil {
		for _, lane := range l.lanes(direction) {
			lane.slow(by)
		}
		return nil
	}
	return l.proxy.lag("delay-"+way, way, by)
}

// reset ends every fault, so that connections can end.
func (l *Link) reset() {
	l.chain.Lock()
	for i, way := range ways(cluster.Both) {
		if l.cuts[i] > 0 {
			l.cuts[i] = 0
			_ = l.cut(i, way, false) // toxiproxy knows the toxic
		}
		_ = l.slow(i, way, 0)
	}
	l.chain.Unlock()
	l.LetGo()
}
