package html

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/lockproof/reports"
)

// maxFaultRows is the number of fault rows; further faults overlap in the last row.
const maxFaultRows = 5

// faults draws faults in rows, so that none covers another.
func (t *timeline) faults() {
	var shown []reports.Band
	for _, f := range t.story.Faults {
		if t.shown(f.From, f.Until) {
			shown = append(shown, f)
		}
	}
	if len(shown) == 0 {
		return
	}
	slices.SortStableFunc(shown, func(a, b reports.Band) int { return cmp.Compare(a.From, b.From) })
	top := t.y
	var ends []float64
	for _, f := range shown {
		b := t.bar("fault", f.From, f.Until, top, faultHeight-3, f.Text)
		b.Text = f.Text + fromTo(f.From, f.Until)
		if f.Until == f.From {
			b.Class = "fault instant"
		}
		row := slices.IndexFunc(ends, func(end float64) bool { return end < b.X })
		if row < 0 {
			row = min(len(ends), maxFaultRows-1)
			if row == len(ends) {
				ends = append(ends, 0)
			}
		}
		ends[row] = b.X + max(b.W, 3)
		if b.Class == "fault instant" {
			ends[row] = b.X + float64(b.Room) // its label follows it
		}
		b.Y += float64(row * faultHeight)
		t.Bars = append(t.Bars, b)
	}
	t.lane("faults", "fault", float64(len(ends)*faultHeight)+2)
	t.y += gapHeight / 2
}

func fromTo(from, until int64) string {
	if from == until {
		return ", at " + reports.Moment(from)
	}
	return fmt.Sprintf(", from %s to %s", reports.Moment(from), reports.Moment(until))
}

// client draws a client's acquires, leases, pauses, crashes and ends of leases.
func (t *timeline) client(c reports.Lane) {
	own := t.ownerClass(c.Name)
	l := t.stretches(c, "client", clientHeight, 4, func(s reports.Stretch) (class, label, text string) {
		word := map[reports.State][2]string{
			reports.Acquiring: {"asking " + own, "acquires"}, reports.Holding: {"holding " + own, "holds"},
			reports.Paused: {"paused", "asleep"}, reports.Down: {"down", "gone"},
		}[s.State]
		label = c.Name + " " + word[1]
		if s.State == reports.Paused {
			return word[0], label, c.Name + " is asleep (a GC pause)"
		}
		return word[0], label, label
	})
	t.points(c.Points, l, own)
}

// node draws the owners of a node's key, and the node's outages.
func (t *timeline) node(n reports.Lane) {
	l := t.stretches(n, "node", nodeHeight, 3, func(s reports.Stretch) (class, label, text string) {
		switch s.State {
		case reports.Owned:
			return "key " + t.ownerClass(s.Owner), cmp.Or(s.Owner, "?"),
				n.Name + " has the key of " + cmp.Or(s.Owner, "an unknown client")
		case reports.Down:
			return "down", "down", n.Name + " is down"
		}
		return "paused", "paused", n.Name + " is paused"
	})
	t.points(n.Points, l, "")
}

func (t *timeline) store() {
	if len(t.story.Store.Stretches)+len(t.story.Store.Points) == 0 {
		return
	}
	t.y += gapHeight
	l := t.stretches(t.story.Store, "store", storeHeight, storeHeight/2-2,
		func(s reports.Stretch) (class, label, text string) {
			return "using " + t.ownerClass(s.Owner), "", s.Owner + " uses the store"
		})
	t.points(t.story.Store.Points, l, "")
}

// stretches draws a lane; look returns the appearance and the text of a stretch.
func (t *timeline) stretches(l reports.Lane, kind string, height, margin float64,
	look func(reports.Stretch) (class, label, text string)) lane {
	row := t.lane(l.Name, kind, height)
	first := len(t.Bars)
	for _, s := range l.Stretches {
		if !t.shown(s.From, s.Until) {
			continue
		}
		class, label, text := look(s)
		if n := len(t.Bars) - 1; kind == "client" && s.State == reports.Paused && n >= first &&
			t.Bars[n].B > s.From-t.From && t.Bars[n].Label != "" {
			label, t.Bars[n].Label = t.Bars[n].Label+", asleep", "" // it covers that label
		}
		until := s.Until
		if until >= t.story.Until && s.State == reports.Owned {
			until = max(until, t.leaseEnd(s.Owner)) // the key outlives the history
		}
		b := t.bar(class, s.From, until, row.Y+margin, row.H-2*margin, label)
		b.Text = text + fromTo(s.From, s.Until)
		t.Bars = append(t.Bars, b)
	}
	return row
}

// leaseEnd is the end of a client's last lease.
func (t *timeline) leaseEnd(client string) int64 {
	last := int64(0)
	for _, c := range t.story.Clients {
		for _, stretch := range c.Stretches {
			if c.Name == client && stretch.State == reports.Holding {
				last = max(last, stretch.Until)
			}
		}
	}
	return last
}

// arrowHeight is the distance from a point of the store up to the client whose write overwrote an update; 0 for other
// points.
func (t *timeline) arrowHeight(p reports.Point, store lane) float64 {
	for _, l := range t.Lanes {
		if p.Kind == reports.PointUndoing && l.Kind == "client" && l.Name == p.Owner {
			return l.Y + l.H - 4 - (store.Y + store.H/2)
		}
	}
	return 0
}

func (t *timeline) points(points []reports.Point, l lane, class string) {
	for _, p := range points {
		if !t.shown(p.Time, p.Time) {
			continue
		}
		own := class
		if p.Owner != "" {
			own = t.ownerClass(p.Owner)
		}
		t.Points = append(t.Points,
			point{Reach: t.arrowHeight(p, l), Class: own, Kind: string(p.Kind), X: t.scale.x(p.Time), Y: l.Y + l.H/2,
				A: p.Time - t.From, Text: p.Text + ", " + reports.Moment(p.Time)})
	}
}
