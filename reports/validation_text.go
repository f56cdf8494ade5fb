//go:build !js

package reports

import (
	"fmt"
	"path"
	"strings"
	"time"

	"lockproof/validate"
)

// validationText writes an answer's sections.
type validationText struct {
	strings.Builder
	*Validation
	screen Screen
}

func (t *validationText) line(text string) { t.WriteString(strings.TrimRight(text, " ") + "\n") }

func (t *validationText) heading(text string) { t.line("\n" + t.screen.style(text, bold)) }

// hang writes text that is wrapped behind its prefix.
func (t *validationText) hang(prefix, text string) {
	for _, l := range hanging(prefix, clean(text), t.screen.Width) {
		t.line(l)
	}
}

// GivenAway says how often a lock was given away.
func GivenAway(tally validate.Tally) string {
	r := newRate(tally.Violated, tally.Decided())
	text := r.String()
	if tally.Inconclusive+tally.Failed > 0 {
		text += fmt.Sprintf("; %d decided nothing", tally.Inconclusive+tally.Failed)
	}
	return text
}

func back(d time.Duration) string {
	if d == 0 {
		return "at once"
	}
	return Span(d)
}

func (t *validationText) rows() {
	if len(t.Rows) == 0 {
		return
	}
	t.line("")
	table := newTable(t.screen).Headers("crash", "TTL", "back after", "verdict", "lock given away")
	for _, r := range t.Rows {
		table.Row(string(r.Crash), Span(r.TTL), back(r.Delay), t.screen.verdict(r.Verdict), GivenAway(r.Tally))
	}
	t.line(table.fitted(t.screen))
	said := map[string]bool{}
	for _, r := range t.Rows {
		if id := string(r.Crash) + string(r.Verdict); !said[id] {
			said[id] = true // of the longest TTL, which comes first
			t.hang("  ", fmt.Sprintf("%s: %s.", r.Crash, r.Reason))
		}
	}
	for _, r := range t.Rows {
		if len(r.Tally.Histories) > 0 {
			t.line("  proof: lockproof check " + path.Join(t.Question.Out, r.Tally.Histories[0]))
			break
		}
	}
}

func (t *validationText) takeovers() {
	if len(t.Takeovers) == 0 {
		return
	}
	t.line("")
	table := newTable(t.screen).Headers("takeover", "TTL", "promoted after", "verdict", "lock given away")
	for _, r := range t.Takeovers {
		after := "at once"
		if r.After > 0 {
			after = Span(r.After)
		}
		table.Row(string(r.Takeover), Span(r.TTL), after, t.screen.verdict(r.Verdict), GivenAway(r.Tally))
	}
	t.line(table.fitted(t.screen))
	said := map[string]bool{}
	for _, r := range t.Takeovers {
		if id := string(r.Takeover) + string(r.Verdict); !said[id] {
			said[id] = true
			t.hang("  ", fmt.Sprintf("%s: %s.", r.Takeover, r.Reason))
		}
	}
	for _, r := range t.Takeovers {
		if len(r.Tally.Histories) > 0 {
			t.line("  proof: lockproof check " + path.Join(t.Question.Out, r.Tally.Histories[0]))
			break
		}
	}
}

func (t *validationText) hazards() {
	if len(t.Hazards) == 0 {
		return
	}
	t.heading("Besides crashes")
	for _, h := range t.Hazards {
		t.hang("  "+t.screen.verdict(h.Verdict)+" ", fmt.Sprintf("%s (%s): %s.", h.Name, h.Place, h.Reason))
	}
}

// unjudged says what the settings leave open.
func (t *validationText) unjudged() {
	open, known := t.Doubts()
	if len(open) > 0 {
		t.heading("Not judged")
	}
	for _, text := range open {
		t.hang("  ", text)
	}
	if len(known) > 0 {
		t.heading("To be known")
	}
	for _, text := range known {
		t.hang("  ", text)
	}
}

func (t *validationText) costs() {
	if len(t.Gaps) == 0 && t.Throughput == nil {
		return
	}
	t.heading("What it costs")
	for _, g := range t.Gaps {
		t.hang("  ", fmt.Sprintf("availability: if a majority goes down by %s at once, nobody gets a lock for %s",
			g.Crash, Duration(g.Longest)))
	}
	if len(t.Gaps) > 0 {
		t.hang("  ", "(in virtual time, where a server starts at once: a real one's start comes on top)")
	}
	if t.Throughput == nil {
		return
	}
	t.hang("  ",
		fmt.Sprintf("throughput, SET NX PX a second, %s, in turns; one fdatasync in %s takes %s (99th percentile %s):",
			t.Throughput.Server, t.Throughput.Dir, Duration(t.Throughput.Fdatasync), Duration(t.Throughput.FdatasyncP99)))
	table := newTable(t.screen).Headers("  persistence", "1 connection", "to none",
		fmt.Sprintf("%d connections", validate.Connections), "to none")
	none := t.Throughput.Rates[0]
	for _, r := range t.Throughput.Rates {
		table.Row("  "+string(r.Persistence), fmt.Sprintf("%.0f", r.One), share(r.One, none.One),
			fmt.Sprintf("%.0f", r.Many), share(r.Many, none.Many))
	}
	t.line(table.fitted(t.screen))
}

func share(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

func (t *validationText) found() {
	if len(t.Delays) == 0 {
		return
	}
	t.heading("The smallest restart delay without a violation")
	for _, f := range t.Delays {
		text := fmt.Sprintf("%s, TTL %s: %s: given away in %s", f.Crash, Span(f.TTL), Span(f.Delay), GivenAway(f.Tally))
		if f.Violated > 0 {
			text += fmt.Sprintf("; %s is too short; predicted: %s", Span(f.Violated), Span(f.Predicted))
		}
		if f.Delay == 0 && f.Why == "" {
			text += "; nothing is forgotten"
		}
		if f.Why != "" {
			text = fmt.Sprintf("%s, TTL %s: not found: %s", f.Crash, Span(f.TTL), f.Why)
		}
		t.hang("  ", text)
	}
}

func (t *validationText) limits() {
	if len(t.Drifts) > 0 {
		t.heading(fmt.Sprintf("How wrong a clock may run: the drift factor is %g %%, and 2 ms", t.Drift*100))
		for _, l := range t.Drifts {
			t.limit(l, func(x float64) string { return fmt.Sprintf("%.2f %%", x*100) })
		}
	}
	if len(t.Pauses) > 0 {
		t.heading("How long a client may stall between the check of its deadline and its write")
		for _, l := range t.Pauses {
			t.limit(l, func(x float64) string { return Duration(time.Duration(x)) })
		}
	}
}

func (t *validationText) limit(l validate.Limit, write func(float64) string) {
	if l.Why != "" {
		t.hang("  ", fmt.Sprintf("%s, TTL %s: not found: %s", l.What, Span(l.TTL), l.Why))
		return
	}
	t.hang("  ", fmt.Sprintf("%s, TTL %s: up to %s held, %s did not; promised: %s (%s)",
		l.What, Span(l.TTL), write(l.Held), write(l.Violated),
		write(l.Predicted), plural(l.Trials, "trial")))
}

func (t *validationText) frontier() {
	f := t.Frontier
	if f == nil {
		return
	}
	t.heading("The safety frontier")
	t.hang("  ", fmt.Sprintf("%s in virtual time, %d violated, %d inconclusive, %d violated on the safe side (%s)",
		plural(f.Trials, "trial"), f.Unsafe,
		f.Inconclusive, f.SafeSide, Duration(f.Elapsed)))
	table := newTable(t.screen).Headers("  persistence", "crash", "TTL", "predicted", "measured", "off, in TTLs", "you are here")
	for _, p := range f.Panels {
		here := f.HereIn(p)
		for _, e := range p.Edges {
			switch {
			case e.Shortest > 0:
				table.Row("  "+string(p.Persistence), string(p.Crash), Span(e.TTL), Duration(e.Predicted),
					Duration((e.Longest+e.Shortest)/2), fmt.Sprintf("%.2f %%", 100*e.Off()), hereAt(here, e.TTL))
			case e.Predicted == 0 && e.TTL == f.TTLs[0]:
				table.Row("  "+string(p.Persistence), string(p.Crash), "any", "none", "none", "", hereAt(here, 0))
			case e.Predicted > 0:
				table.Row("  "+string(p.Persistence), string(p.Crash), Span(e.TTL), Duration(e.Predicted), "not found", "", hereAt(here, e.TTL))
			}
		}
	}
	t.line(table.fitted(t.screen))
	t.checks(f)
}

// hereAt says how soon a node is back under the operator's own settings, if these are among
// the points with the TTL, 0 for any.
func hereAt(here []validate.Point, ttl time.Duration) string {
	for _, p := range here {
		if ttl == 0 || p.TTL == ttl {
			return "back " + afterwards(p.Delay)
		}
	}
	return ""
}

func afterwards(d time.Duration) string {
	if d == 0 {
		return "at once"
	}
	return "after " + Span(d)
}

func (t *validationText) checks(f *validate.Frontier) {
	if len(f.Checks) == 0 {
		return
	}
	agree, unsafe := 0, 0
	for _, c := range f.Checks {
		if c.Agrees() {
			agree++
		} else {
			t.hang("  differs: ", fmt.Sprintf("%s, %s, back after %s: virtual time %s, real Redis %s %s", c.Persistence,
				c.Crash, Span(c.Delay), GivenAway(c.Virtual), GivenAway(c.Real), c.Real.Why))
		}
		if c.Unsafe() {
			unsafe++
		}
	}
	t.hang("  ", fmt.Sprintf("On real Redis, TTL %s: %d of %d points agree with virtual time, %d on the unsafe side and %d on the safe one",
		Span(f.Checks[0].TTL), agree, len(f.Checks), unsafe, len(f.Checks)-unsafe))
}
