package reports

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/harness/suite"
)

// TrialOf makes a trial of a verdict on a history, so that it can be compared
// with what the history's own header expects.
func TrialOf(v checker.Verdict) suite.Trial {
	h := v.Header
	return suite.Trial{
		Scenario: h.Scenario, Variant: h.Variant, Cluster: h.Cluster, Server: h.Server, Trial: h.Trial, Seed: h.Seed,
		Lock: h.Lock, Without: h.Without, Results: v.Results, Expect: h.Expect, Lenient: h.Lenient,
	}
}

// VerdictText tells the verdict on one history: each property with what was
// expected and measured, then each violation with its drawing, or a drawing of
// the whole history where there is no violation.
func VerdictText(events []history.Event, v checker.Verdict, screen Screen) string {
	trial := TrialOf(v)
	p := page{screen: screen}
	row := New([]suite.Trial{trial}, Run{}).Rows[0]
	p.line(screen.style(clean(row.Name()), bold))
	p.text("", fmt.Sprintf("%s, TTL %s, %s", occasion(trial), Duration(time.Duration(v.Header.TTL)), v.Header.Server))
	p.line("")
	for _, j := range trial.Judgements() {
		p.judgement(j, v.Of(j.Property))
	}
	leases, tenures := checker.Leases(events), checker.Timeline(events)
	broken := 0
	for _, r := range v.Results {
		for i := range r.Violations[:min(len(r.Violations), maxDrawings)] {
			broken++
			story := Tell(events, leases, tenures, &r.Violations[i])
			p.violation(r, i, story)
		}
	}
	if broken == 0 && len(leases) > 0 {
		p.line("\n" + strings.TrimRight(Tell(events, leases, tenures, nil).Draw(screen), "\n"))
	}
	p.line("")
	return screen.plain(p.b.String())
}

func (p *page) judgement(j suite.Judgement, r checker.Result) {
	style := standingStyles[j.Standing]
	expected := ""
	if j.Expected != "" {
		expected = ", expected " + j.Expected
	}
	p.line(p.screen.style(fmt.Sprintf("%s %s: %s%s", p.screen.sign(j.Got), clean(j.Property), j.Got, expected), style))
	if r.Reason != "" {
		p.text("    ", r.Reason)
	}
	if figures := figuresText(r.Measured); figures != "" {
		p.text("    ", figures)
	}
}

// figuresText writes what was measured: times, which the checker gives in
// nanoseconds, and counts.
func figuresText(measured map[string]int64) string {
	names := make([]string, 0, len(measured))
	for name := range measured {
		names = append(names, name)
	}
	sort.Strings(names)
	var parts []string
	for _, name := range names {
		value := fmt.Sprint(measured[name])
		if isTime(name) {
			value = at(measured[name])
		}
		parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+value)
	}
	return strings.Join(parts, ", ")
}

func isTime(name string) bool {
	return strings.HasPrefix(name, "longest_") || strings.HasPrefix(name, "acquire_p")
}

func (p *page) violation(r checker.Result, i int, story Story) {
	f := Finding{Violation: &r.Violations[i], Story: &story}
	p.section(fmt.Sprintf("%s, violation %d of %d", clean(r.Property), i+1, violations(r)))
	p.line(strings.TrimRight(strings.Join(PrintFinding(f, p.screen, true), "\n"), "\n"))
}
