package reports

import (
	"fmt"
	"strings"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/checker/cause"
	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// TrialOf makes a trial of a verdict on a history, to compare it with the expectations in the history's header.
func TrialOf(v checker.Verdict) suite.Result {
	h := v.Header
	return suite.Result{
		Scenario: h.Scenario, Variant: h.Variant, Cluster: h.Cluster, Server: h.Server, Trial: h.Trial, Seed: h.Seed,
		Lock: h.Lock, Without: h.Without, Results: v.Results, Expect: h.Expect, AllowBetter: h.AllowBetter,
	}
}

// VerdictText describes the verdict on one history: each property with its expectation, then each violation with its
// drawing, or a drawing of the whole history without violations. A history that is too long is not drawn.
func VerdictText(h *History, v checker.Verdict, screen terminal.Screen) string {
	trial := TrialOf(v)
	p := &terminal.Page{Screen: screen}
	row := New([]suite.Result{trial}, Run{}).Rows[0]
	p.Line(screen.Style(terminal.Clean(row.Name()), terminal.Bold))
	p.Hang("", fmt.Sprintf("%s, TTL %s, %s", TrialText(trial), Duration(time.Duration(v.Header.TTL)), v.Header.Server))
	p.Line("")
	for _, j := range trial.Judgements() {
		printJudgement(p, j, v.Of(j.Property))
	}
	printTraffic(p, v.Traffic)
	violated := false
	for _, r := range v.Results {
		for i := range r.Violations[:min(len(r.Violations), maxDrawings)] {
			violated = true
			title := fmt.Sprintf("%s, violation %d of %d", terminal.Clean(r.Property), i+1, ViolationCount(r))
			p.Line("\n" + p.Style(title, terminal.Bold))
			h.finding(&r.Violations[i], nil, suite.Judgement{Property: r.Property}).print(p, true)
		}
	}
	if len(h.leases) > 0 && !violated {
		p.Line("\n" + strings.TrimRight(h.Tell(nil).Draw(screen), "\n"))
	}
	p.Line("")
	return p.String()
}

func printJudgement(p *terminal.Page, j suite.Judgement, r checker.Result) {
	expected := ""
	if j.Expected != "" {
		expected = ", expected " + j.Expected
	}
	p.Line(p.Style(fmt.Sprintf("%s %s: %s%s", VerdictSigns[j.Got], terminal.Clean(j.Property), j.Got, expected),
		StandingTone(j.Standing).style()))
	if r.Reason != "" {
		p.Hang("    ", r.Reason)
	}
}

// maxFindings bounds the traffic findings that are printed.
const maxFindings = 3

// printTraffic prints contradictions in the raw events on the links (package checker/traffic).
func printTraffic(p *terminal.Page, t *traffic.Report) {
	if t.Count > 0 {
		p.Line("traffic: " + Plural(t.Count, "finding"))
	}
	for _, f := range t.Findings[:min(len(t.Findings), maxFindings)] {
		p.Hang("    ", fmt.Sprintf("about the %s: %s", f.About, terminal.Clean(f.String())))
	}
}

// ViolationText describes a result's first violation: what happened, its cause (nil if unknown) and its drawing.
func ViolationText(h *History, r *checker.Result, c *cause.Cause, screen terminal.Screen) string {
	p := &terminal.Page{Screen: screen}
	h.finding(&r.Violations[0], c, suite.Judgement{Property: r.Property}).print(p, true)
	return p.String()
}
