package reports

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// PointKind is the kind of a point.
type PointKind string

// The kinds of points.
const (
	PointDeadline PointKind = "deadline" // the client's own deadline passed
	PointReleased PointKind = "released" // the client called release
	PointLost     PointKind = "lost"     // the lock reported a loss
	PointKilled   PointKind = "killed"   // the client died with the lock
	PointClock    PointKind = "clock"    // a clock was set
	PointRead     PointKind = "read"     // the store was read
	PointAccepted PointKind = "accepted" // the store accepted a write
	PointRejected PointKind = "rejected" // the store rejected a write
	PointUnknown  PointKind = "unknown"  // a write has no known outcome
	PointUndone   PointKind = "undone"   // an acknowledged write was lost
	PointUndoing  PointKind = "undoing"  // a write overwrote it
)

// Point is one moment of a lane.
type Point struct {
	Time  int64
	Kind  PointKind
	Owner string // the client of an access to the store
	// Victim is the client whose update this write overwrote.
	Victim string
	Text   string
}

// leaseEnd is the point at which a client's lease ended.
func leaseEnd(l checker.Lease) Point {
	p := Point{Time: l.Until, Kind: PointDeadline}
	switch l.Ended {
	case checker.EndedRelease:
		p.Kind, p.Text = PointReleased, l.Client+" releases the lock"
	case checker.EndedLost:
		p.Kind, p.Text = PointLost, l.Client+" learns that it lost the lock"
	case checker.EndedKilled:
		p.Kind, p.Text = PointKilled, l.Client+" dies holding the lock"
	default:
		p.Text = l.Client + "'s lease is valid until here (its own view)"
	}
	return p
}

// skewText states a clock's error and rate; "" if it is right.
func skewText(c history.Clock, now int64) string {
	text := ""
	if off := time.Duration(c.Reading - now); off != 0 {
		sign := "+"
		if off < 0 {
			sign = ""
		}
		text = sign + Duration(off)
	}
	if c.Rate != 1 {
		if text != "" {
			text += ", "
		}
		text += "×" + strconv.FormatFloat(c.Rate, 'g', 4, 64)
	}
	return text
}

func (t *storyBuilder) storePoint(e history.Event) Point {
	p := Point{Time: e.Time, Owner: e.Process}
	by := slices.IndexFunc(t.lost, func(u checker.LostUpdate) bool { return u.By == e.Value })
	switch {
	case e.Op == history.OpRead:
		p.Kind, p.Text = PointRead, fmt.Sprintf("%s reads %s from the store", e.Process, checker.VersionName(e.Value))
	case e.Type == history.TypeFail && e.Reason == history.ReasonExpired:
		p.Kind, p.Text = PointRejected, fmt.Sprintf("%s does not send its write %s: its lease is over", e.Process, e.Value)
	case e.Type == history.TypeFail:
		p.Kind, p.Text = PointRejected, fmt.Sprintf("the store rejects %s's write %s", e.Process, e.Value)
		if e.Reason == history.ReasonStale {
			p.Text += ": it has seen a newer token or version"
		}
	case e.Type == history.TypeInfo:
		p.Kind, p.Text = PointUnknown, fmt.Sprintf("the outcome of %s's write %s is unknown", e.Process, e.Value)
	default:
		p.Kind, p.Text = PointAccepted, fmt.Sprintf("the store accepts %s's write %s", e.Process, e.Value)
		if slices.ContainsFunc(t.lost, func(u checker.LostUpdate) bool { return u.Value == e.Value }) {
			p.Kind = PointUndone
		} else if by >= 0 {
			p.Kind, p.Victim = PointUndoing, t.lost[by].Client
			p.Text += fmt.Sprintf(", and %s's %s is lost: both were derived from %s", p.Victim, t.lost[by].Value,
				checker.VersionName(e.Base))
		}
	}
	return p
}
