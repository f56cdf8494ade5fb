package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// LockUnderTest describes the lock that a run tests.
type LockUnderTest struct {
	Name    string `json:"name,omitempty"`
	Servers int    `json:"servers,omitempty"` // 0: as each scenario says
	// Belief is how long clients rely on a lease; "" if the lease itself says it.
	Belief string `json:"belief,omitempty"`
	// Notices are warnings about the lock from before the first row.
	Notices []string `json:"notices,omitempty"`
}

// AboutLock describes a lock by its name, or has the name alone if the lock is unknown.
func AboutLock(name string) LockUnderTest {
	about := LockUnderTest{Name: name}
	kind, err := locks.Find(cmp.Or(name, locks.Reference))
	if err != nil {
		return about
	}
	about.Name, about.Belief, about.Servers, about.Notices = kind.Name, kind.Belief, defaultServers, kind.Notices
	switch {
	case kind.SingleNode:
		about.Servers = 1
	case kind.Servers > 0:
		about.Servers = kind.Servers
	}
	return about
}

// defaultServers is the number of servers of a multi-node lock unless its scenario sets another.
const defaultServers = 5

// AnswerGroup is all rows with one answer.
type AnswerGroup struct {
	Answer suite.Answer `json:"answer"`
	Rows   []string     `json:"rows"`
	// Reasons explain undecided and inapplicable rows; each lists its rows.
	Reasons Skips `json:"reasons,omitempty"`
	// Remedies are the changes with which the reference keeps a property that it violated; each lists its rows.
	Remedies Skips `json:"remedies,omitempty"`
}

// Tone is the tone of the answer.
func (g AnswerGroup) Tone() Tone { return tones[g.Answer] }

// UnderTest reports whether the run tests a lock, so that its rows have answers and no expectations.
func (r *Report) UnderTest() bool {
	return len(r.Rows) > 0 && !slices.ContainsFunc(r.Rows, func(row *Row) bool { return !row.underTest() })
}

func (r *Row) underTest() bool { return len(r.Trials) > 0 && r.Trials[0].AllowBetter }

// Answers groups the rows by answer: first Holds, then the others by severity.
func (r *Report) Answers() []AnswerGroup {
	groups := map[suite.Answer]*AnswerGroup{}
	for _, row := range r.Rows {
		answer, why := row.First().Answer()
		g := groups[answer]
		if g == nil {
			g = &AnswerGroup{Answer: answer}
			groups[answer] = g
		}
		g.Rows = append(g.Rows, row.Scenario)
		switch answer {
		case suite.Undecided:
			g.Reasons.add(row.undecidedReason(why), row.Scenario)
		case suite.NotApplicable, suite.Failed:
			g.Reasons.add(why, row.Scenario)
		case suite.Limit:
			for _, remedy := range row.First().Remedies {
				g.Remedies.add(remedy, row.Scenario)
			}
		}
	}
	var all []AnswerGroup
	for _, answer := range suite.Answers {
		if g := groups[answer]; g != nil && answer == suite.Holds {
			all = slices.Insert(all, 0, *g)
		} else if g != nil {
			all = append(all, *g)
		}
	}
	return all
}

// undecidedReason prefers the checker's reason.
func (r *Row) undecidedReason(why string) string {
	for _, result := range r.First().Results {
		if result.Verdict == history.Inconclusive && result.Reason != "" && r.First().Expect[result.Property] != "" {
			return strings.TrimPrefix(result.Reason, string(result.Cause)+": ")
		}
	}
	return why
}

// mostReasons bounds the reasons that the summary prints for each answer.
const mostReasons = 4

// AnswersText is the summary of a run that tests a lock.
func (r *Report) AnswersText(screen terminal.Screen) string {
	p := &terminal.Page{Screen: screen}
	r.printAnswers(p)
	return p.String()
}

func (r *Report) printAnswers(p *terminal.Page) {
	p.Hang("", fmt.Sprintf("%s: %s, %s", r.LockText(), Plural(len(r.Rows), "situation"), Duration(r.Elapsed)))
	for _, g := range r.Answers() {
		label := p.Style(fmt.Sprintf("  %-15s", g.Answer), g.Tone().style())
		prefix := fmt.Sprintf("%s%4d   ", label, len(g.Rows))
		if named := g.Named(); len(named) > 0 {
			p.WriteString(p.Wrap(prefix, unbroken(named, ", ")))
			prefix = strings.Repeat(" ", 24)
		}
		p.Hang(prefix, g.Text(r.Lock.Servers))
	}
	for _, notice := range r.Lock.Notices {
		p.Hang("note: ", notice)
	}
}

// LockText names the lock, its servers and how long clients rely on a lease.
func (r *Report) LockText() string {
	parts := []string{r.Lock.Name}
	if len(r.Options.Without) > 0 {
		parts[0] += " without " + list(r.Options.Without)
	}
	if r.Lock.Servers > 0 {
		parts = append(parts, serversText(r.Lock.Servers), "believed "+cmp.Or(r.Lock.Belief, "for as long as the lease says"))
	}
	return strings.Join(parts, ", ")
}

func serversText(n int) string {
	words := map[int]string{1: "one server", 3: "three servers", 5: "five servers"}
	return cmp.Or(words[n], Plural(n, "server"))
}

// onServers is "" if the number of servers is unknown.
func onServers(n int) string {
	if n == 0 {
		return ""
	}
	return "on " + serversText(n) + " "
}

// Named are the rows of an answer that the user must act on.
func (g AnswerGroup) Named() []string {
	if g.Answer == suite.Bug || g.Answer == suite.Limit {
		return g.Rows
	}
	return nil
}

// Text explains a group, for a lock on a number of servers; "" if nothing needs it.
func (g AnswerGroup) Text(servers int) string {
	switch g.Answer {
	case suite.Bug:
		return fmt.Sprintf("a lock %scan survive %s", onServers(servers), these(len(g.Rows)))
	case suite.Limit:
		text := fmt.Sprintf("the reference %sdoes not survive %s either", onServers(servers), these(len(g.Rows)))
		for _, remedy := range g.Remedies {
			text += fmt.Sprintf("; %s does in %d", remedy.Why, len(remedy.Names))
		}
		return text
	}
	reasons := slices.Clone(g.Reasons)
	slices.SortStableFunc(reasons, func(a, b Skip) int { return len(b.Names) - len(a.Names) })
	var parts []string
	for _, reason := range reasons[:min(len(g.Reasons), mostReasons)] {
		parts = append(parts, fmt.Sprintf("%d: %s", len(reason.Names), reason.Why))
	}
	if more := len(reasons) - mostReasons; more > 0 {
		parts = append(parts, fmt.Sprintf("%s (in results.json)", Plural(more, "other reason")))
	}
	return strings.Join(parts, "; ")
}

func these(n int) string {
	if n == 1 {
		return "this"
	}
	return "these"
}
