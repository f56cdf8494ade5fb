//go:build !js

package validation

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"example.org/lockproof/internal/wording"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/validate"
	conf "example.org/lockproof/validate/settings"
)

type writer struct {
	terminal.Page
	*Report
}

func (t *writer) heading(text string) { t.Line("\n" + t.Style(text, terminal.Bold)) }

// clip writes text behind a prefix, wrapped, in at most most lines.
func (t *writer) clip(prefix, text string, most int) {
	lines := terminal.Hanging(prefix, terminal.Clean(text), t.Width)
	if len(lines) > most {
		last := strings.TrimRight(lines[most-1], " ")
		if end := strings.LastIndexByte(last, ' '); terminal.Width(last) > t.Width-2 && end > 0 {
			last = last[:end]
		}
		lines = append(lines[:most-1], last+" …")
	}
	for _, l := range lines {
		t.Line(l)
	}
}

// The limits of an answer without --verbose: it must fit on one screen.
const (
	mostLines  = 15
	mostRows   = 7
	mostAdvice = 3
)

// Text is the answer for a reader: verdicts, advice and assumptions; verbose adds the details.
func (v *Report) Text(screen terminal.Screen, verbose bool) string {
	t := &writer{Report: v, Page: terminal.Page{Screen: screen}}
	t.clip(verdictOn(v.Verdict, screen), v.headline(), 2)
	t.rows(verbose)
	if v.Failure != "" {
		t.clip("the harness failed: ", v.Failure, 2)
	}
	t.advice(verbose)
	t.assumptions(verbose)
	if verbose {
		t.rest()
	} else if len(v.Runbooks) > 0 || len(v.Assumptions) > 0 {
		t.Line("--verbose shows the steps, the settings and the chain of facts.")
	}
	return t.Page.String()
}

var crashWords = map[conf.Crash]string{conf.Kill: "kill", conf.Shutdown: "shutdown", conf.PowerLoss: "power loss"}

// textRow is a verdict with its text, for one or several names.
type textRow struct {
	names   []string
	verdict validate.Verdict
	text    string
}

func (r textRow) name() string { return strings.Join(r.names, ", ") }

// sameForEveryTTL reports whether the rows of a crash differ in their TTLs alone.
func (t *writer) sameForEveryTTL(c conf.Crash) bool {
	answers := map[string]bool{}
	for _, r := range t.Rows {
		if r.Crash == c {
			answers[string(r.Verdict)+r.Reason+r.Condition] = true
		}
	}
	return len(answers) == 1
}

// grouped merges rows with the same verdict and text.
func (t *writer) grouped() (all []textRow) {
	add := func(name string, verdict validate.Verdict, text string) {
		for i, r := range all {
			if r.verdict == verdict && r.text == text {
				if !slices.Contains(r.names, name) {
					all[i].names = append(r.names, name)
				}
				return
			}
		}
		all = append(all, textRow{[]string{name}, verdict, text})
	}
	for _, r := range t.Rows {
		name, reason := crashWords[r.Crash], r.Reason
		if !t.sameForEveryTTL(r.Crash) {
			name += " " + span(r.TTL)
		}
		if r.Condition != "" {
			reason += ", " + r.Condition
		}
		add(name, r.Verdict, reason)
	}
	if len(all) == 1 && len(all[0].names) > 1 {
		all[0].names = []string{"every crash"}
	}
	for _, r := range t.Takeovers {
		add(string(r.Takeover), r.Verdict, r.Reason)
	}
	for _, h := range t.Hazards {
		add(h.Name, h.Verdict, fmt.Sprintf("%s: %s", h.Place, h.Reason))
	}
	return all
}

func (t *writer) rows(verbose bool) {
	all := t.grouped()
	// Share the lines beside the first, the last, the assumptions, a heading and the advice equally.
	most := max(1, (mostLines-6-min(mostAdvice, len(t.Runbooks)))/max(1, min(mostRows, len(all))))
	names, verdicts := 0, 0 // columns
	for _, r := range all {
		names = max(names, len(r.name()))
		verdicts = max(verdicts, terminal.Width(verdictOn(r.verdict, t.Screen)))
	}
	for i, r := range all {
		prefix := fmt.Sprintf("  %s  %s  ", terminal.PadTo(r.name(), names),
			terminal.PadTo(verdictOn(r.verdict, t.Screen), verdicts))
		if verbose {
			t.Hang(prefix, r.text)
			continue
		}
		if i == mostRows-1 && len(all) > mostRows {
			t.Line(fmt.Sprintf("  and %d more: --verbose shows them", len(all)-i))
			break
		}
		t.clip(prefix, r.text, most)
	}
	for _, r := range t.Rows {
		if len(r.Tally.Histories) > 0 && t.Question.Out != "" {
			t.Line("  proof: lockproof check " + path.Join(t.Question.Out, r.Tally.Histories[0]))
			break
		}
	}
}

// advice writes the runbooks: name and price, or with verbose step by step.
func (t *writer) advice(verbose bool) {
	if len(t.Runbooks) == 0 {
		return
	}
	t.Line("What helps, in one of these ways:")
	for i, r := range t.Runbooks {
		name := r.Name
		if r.Against != "" {
			name += ", against " + r.Against
		}
		if r.Verdict != validate.Safe {
			name += " (the rest stays " + verdictWords(r.Verdict) + ")"
		}
		if !verbose && i == mostAdvice-1 && len(t.Runbooks) > mostAdvice {
			var names []string
			for _, other := range t.Runbooks[i:] {
				names = append(names, other.Name)
			}
			t.clip("  also: ", strings.Join(names, "; "), 1)
			break
		}
		if !verbose {
			t.clip(fmt.Sprintf("  %d. ", i+1), name+": "+r.Price, 1)
			continue
		}
		t.Hang(fmt.Sprintf("  %d. ", i+1), name)
		for _, s := range r.Steps {
			t.Hang("     - ", stepText(s))
		}
		t.Hang("     check: ", r.Check)
		var back []string
		for _, s := range r.Back {
			back = append(back, stepText(s))
		}
		t.Hang("     back:  ", strings.Join(back, "; then "))
		t.Hang("     price: ", r.Price)
	}
}

func stepText(s validate.Step) string {
	text := s.Do
	switch {
	case s.Redis != nil:
		text = s.Client + " " + strings.Join(s.Redis, " ")
		if s.Redis[len(s.Redis)-1] == "" {
			text += `""`
		}
	case s.Until != nil:
		text += ": " + s.Client + " INFO persistence says " + strings.Join(s.Until, ", ")
	case s.Line != "" && s.Was != "":
		text = fmt.Sprintf("%s: %s (was: %s)", s.Place, s.Line, s.Was)
	case s.Line != "":
		text = fmt.Sprintf("%s: add %s", s.Place, s.Line)
	}
	if s.Cost != "" {
		text += " (" + s.Cost + ")"
	}
	return text
}

// assumptions writes the conditions of a safe verdict.
func (t *writer) assumptions(verbose bool) {
	safe := false
	for _, r := range t.Rows {
		safe = safe || r.Verdict == validate.Safe
	}
	if !safe {
		return
	}
	var all []string
	for _, l := range t.Assumptions {
		all = append(all, l.What)
	}
	if verbose {
		t.heading("Safe only while")
		for _, a := range all {
			t.Hang("  - ", a)
		}
		return
	}
	used := strings.Count(t.String(), "\n") + 1 // with the last line
	t.clip("Safe only while: ", strings.Join(all, "; ")+".", max(1, mostLines-used))
}

// rest writes the settings and the chain of facts, which explain the verdict.
func (t *writer) rest() {
	if len(t.Decisive) > 0 {
		t.heading("Settings")
	}
	for _, line := range t.Decisive {
		t.Line("  " + line + t.Style("  "+t.whereSet(line), terminal.Faint))
	}
	t.heading("Chain of facts")
	for _, l := range t.Server.Links {
		t.Hang(fmt.Sprintf("  %-13s %-12s ", l.Name, l.State), l.String())
	}
	t.Line(fmt.Sprintf("\n%s in %s.", reports.Plural(t.Trials, "trial"), wording.Duration(t.Elapsed)))
}
