package reports

import (
	"fmt"
	"slices"

	"example.org/lockproof/checker"
)

// Headline is one sentence on how an update was lost. It is "" for other violations: their own sentence suffices.
func (s *Story) Headline(v *checker.Violation) string {
	if s == nil || v == nil {
		return ""
	}
	for _, p := range s.Store.Points {
		involved := slices.Contains(v.Processes, p.Owner) && slices.Contains(v.Processes, p.Victim)
		if p.Kind == PointUndoing && v.From <= p.Time && involved {
			return fmt.Sprintf("%s%s overwrote %s's update", p.Owner, s.lateness(p), p.Victim)
		}
	}
	return ""
}

// lateness says why a client writes after its lease; "" if it does not.
func (s *Story) lateness(write Point) string {
	var lease, pause Stretch
	for _, c := range s.Clients {
		if c.Name != write.Owner {
			continue
		}
		for _, st := range c.Stretches {
			switch {
			case st.State == Holding && st.From <= write.Time:
				lease = st
			case st.State == Paused && st.From <= write.Time:
				pause = st
			}
		}
	}
	switch {
	case lease.Until == 0 || lease.Until >= write.Time:
		return ""
	case pause.From < lease.Until && lease.Until < pause.Until:
		return " slept through the end of its lease, woke, and"
	}
	return " wrote after the end of its lease and"
}
