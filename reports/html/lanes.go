package html

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/lockproof/reports"
)

// maxFaultRows is how many rows of faults are stacked before they overlap.
const maxFaultRows = 5

// faults are stacked, so that none covers another.
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
			ends[row] = b.X + float64(b.Room) // its label stands behind it
		}
		b.Y += float64(row * faultHeight)
		t.Bars = append(t.Bars, b)
		band := b
		band.Label, band.Text = "", ""
		t.Bands = append(t.Bands, band)
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

// client draws who asks, holds, is paused or gone, and where beliefs end.
func (t *timeline) client(c reports.Lane) {
	l := t.lane(c.Name, "client", clientHeight)
	own := t.ownerClass(c.Name)
	words := map[reports.State][2]string{
		reports.Asking: {"asking " + own, "asks"}, reports.Holding: {"holding " + own, "holds"},
		reports.Paused: {"paused", "asleep"}, reports.Down: {"down", "gone"},
	}
	for _, stretch := range c.Stretches {
		word, known := words[stretch.State]
		if !known || !t.shown(stretch.From, stretch.Until) {
			continue
		}
		label := c.Name + " " + word[1]
		text := label + fromTo(stretch.From, stretch.Until)
		if stretch.State == reports.Paused {
			text = c.Name + " is asleep (a GC pause)" + fromTo(stretch.From, stretch.Until)
			n := len(t.Bars) - 1
			if n >= 0 && t.Bars[n].Y == l.Y+4 && t.Bars[n].B > stretch.From-t.From && t.Bars[n].Label != "" {
				label, t.Bars[n].Label = t.Bars[n].Label+", asleep", "" // it lies over that label
			}
		}
		b := t.bar(word[0], stretch.From, stretch.Until, l.Y+4, l.H-8, label)
		b.Text = text
		if stretch.State == reports.Paused {
			b.Short, b.Long = label, label+" (a GC pause)"
			if b.W >= float64(b.Room)+float64(len(b.Long)-len(label))*glyphWidth {
				b.Label = b.Long
			}
		}
		t.Bars = append(t.Bars, b)
	}
	t.points(c.Points, l, own)
}

// node draws whose key it holds from when to when, and when it is away.
func (t *timeline) node(n reports.Lane) {
	l := t.lane(n.Name, "node", nodeHeight)
	for _, stretch := range n.Stretches {
		if !t.shown(stretch.From, stretch.Until) {
			continue
		}
		class, label, text := "paused", "paused", n.Name+" is paused"
		switch stretch.State {
		case reports.Owned:
			label = cmp.Or(stretch.Owner, "?")
			class, text = "key "+t.ownerClass(stretch.Owner),
				n.Name+" holds the key of "+cmp.Or(stretch.Owner, "somebody unknown")
		case reports.Down:
			class, label, text = "down", "down", n.Name+" is down"
		}
		until := stretch.Until
		if until >= t.story.Until && stretch.State == reports.Owned {
			until = max(until, t.believed(stretch.Owner)) // the history ends before the key does
		}
		b := t.bar(class, stretch.From, until, l.Y+3, l.H-6, label)
		b.Text = text + fromTo(stretch.From, stretch.Until)
		t.Bars = append(t.Bars, b)
	}
	t.points(n.Points, l, "")
}

// believed is until when a client believes in its last lease.
func (t *timeline) believed(client string) int64 {
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

func (t *timeline) store() {
	s := t.story
	if s.Store == nil {
		return
	}
	t.y += gapHeight
	l := t.lane("store", "store", storeHeight)
	for _, stretch := range s.Store.Stretches {
		if t.shown(stretch.From, stretch.Until) {
			b := t.bar("using "+t.ownerClass(stretch.Owner), stretch.From, stretch.Until, l.Y+l.H/2-2, 4, "")
			b.Text = stretch.Owner + " uses the store" + fromTo(stretch.From, stretch.Until)
			t.Bars = append(t.Bars, b)
		}
	}
	t.points(s.Store.Points, l, "")
}

// reach is how far above a point of the store the client stands whose write overwrote an update;
// 0 of all other points.
func (t *timeline) reach(p reports.Point, at lane) float64 {
	for _, l := range t.Lanes {
		if p.Kind == reports.PointUndoing && l.Kind == "client" && l.Name == p.Owner {
			return l.Y + l.H - 4 - (at.Y + at.H/2)
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
			point{Reach: t.reach(p, l), Class: own, Kind: string(p.Kind), X: t.scale.x(p.Time), Y: l.Y + l.H/2,
				A: p.Time - t.From, Text: p.Text + ", " + reports.Moment(p.Time)})
	}
}
