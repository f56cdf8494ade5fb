package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockproof/checker"
	"lockproof/harness/cluster"
	"lockproof/harness/locks"
	"lockproof/scenarios"
)

// Catalogue lists scenarios as a table: name, clusters, how many variants, and
// title.
func Catalogue(all []*scenarios.Scenario, screen Screen) string {
	t := newTable(screen).Headers("scenario", "on", "variants", "title")
	for _, s := range all {
		t.Row(clean(s.Name), strings.Join(s.On, " "), fmt.Sprint(len(s.Variants)), clean(s.Title))
	}
	return screen.plain(t.fitted(screen)) + "\n" + plural(len(all), "scenario") + "\n"
}

// ScenarioText tells a scenario for a reader: its lesson and source, how it is
// set up, its schedule step by step, what is expected, and its variants.
func ScenarioText(s *scenarios.Scenario, screen Screen) string {
	p := page{screen: screen}
	p.line(screen.style(clean(s.Name), boldStyle))
	p.text("", s.Title)
	p.section("Lesson")
	p.text("  ", s.Lesson)
	p.section("Source")
	for _, source := range s.Source {
		p.text("  ", source)
	}
	p.section("Set up")
	p.setUp(s)
	if len(s.Script) > 0 {
		p.section("Schedule")
		p.script(s.Script, "  ")
	}
	p.work(s)
	p.section("Expected")
	p.expectations(s.Expect, "  ")
	if len(s.Variants) > 0 {
		p.section("Variants")
	}
	for _, v := range s.Variants {
		p.variant(v)
	}
	return screen.plain(p.b.String())
}

// page is text being written.
type page struct {
	screen Screen
	b      strings.Builder
}

func (p *page) line(text string) { p.b.WriteString(text + "\n") }

func (p *page) text(prefix, text string) {
	for _, line := range hanging(prefix, clean(text), p.screen.Width) {
		p.line(line)
	}
}

func (p *page) section(name string) { p.line("\n" + p.screen.style(name, boldStyle)) }

func (p *page) setUp(s *scenarios.Scenario) {
	p.text("  clusters: ", list(s.On))
	p.text("  nodes:    ", strings.Join(s.Nodes, " ")+aliases(s.Aliases))
	p.text("  TTL:      ", Duration(s.TTL))
	for _, replica := range slices.Sorted(maps.Keys(s.Replicas)) {
		p.text("  replica:  ", replica+" of "+s.Replicas[replica])
	}
	if s.Sentinels > 0 {
		p.text("  watch:    ", plural(s.Sentinels, "Sentinel")+" on n1, s1 to s"+fmt.Sprint(s.Sentinels))
	}
	p.text("  lock:     ", lockText(s.Lock))
	if !s.Delay.IsZero() {
		p.text("  network:  ", "each message takes "+s.Delay.String())
	}
	if s.Persistence != "" {
		p.text("  on disk:  ", persistenceText(s.Persistence))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Redis)) {
		p.text("  redis:    ", name+" "+s.Redis[name])
	}
	if s.Restart == scenarios.RestartAlways {
		p.text("  restart:  ", "always: a supervisor starts a server again as soon as it has died")
	}
	if s.Store.Check != "" && s.Store.Check != scenarios.CheckNone {
		p.text("  store:    ", "checks "+map[scenarios.StoreCheck]string{
			scenarios.CheckFence:       "the fencing token of each read and write",
			scenarios.CheckFenceWrites: "the fencing token of each write, and is told none by reads",
			scenarios.CheckCompare:     "that each write was derived from the present version",
		}[s.Store.Check])
	}
	for _, c := range s.Clients {
		p.text("  client "+c.Name+": ", ClientText(c))
	}
}

func persistenceText(p cluster.Persistence) string {
	if p == cluster.PersistNone {
		return "nothing (no persistence)"
	}
	return string(p)
}

// lockText names the lock under test, and the options that the scenario gives it.
func lockText(l scenarios.Lock) string {
	parts := []string{l.Name}
	if l.Name == "" {
		parts[0] = locks.Reference
	}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if l.Tries > 0 {
		add("%s for each acquire", plural(l.Tries, "attempt"))
	}
	if !l.NodeTimeout.IsZero() {
		add("node timeout %s", l.NodeTimeout)
	}
	if l.Drift != nil {
		add("drift factor %g", *l.Drift)
	}
	if !l.RetryMax.IsZero() {
		add("retries after %s", rangeText(scenarios.Range{Min: l.RetryMin, Max: l.RetryMax}))
	}
	if l.MaxExtensions > 0 {
		add("at most %s", plural(l.MaxExtensions, "extension"))
	}
	if l.Pool > 0 {
		add("%s to each server", plural(l.Pool, "connection"))
	}
	if l.Resends > 0 {
		add("the client library resends a command that was not answered, at most %d times", l.Resends)
	}
	if l.Wait > 0 {
		add("waits for %s", plural(l.Wait, "replica"))
	}
	return strings.Join(parts, ", ")
}

func aliases(names map[string]string) string {
	if len(names) == 0 {
		return ""
	}
	return " (the same server: " + strings.ReplaceAll(quantities(names), " ", " is ") + ")"
}

// ClientText says what is special about a client of a scenario.
func ClientText(c scenarios.Client) string {
	var parts []string
	if len(c.Nodes) > 0 {
		parts = append(parts, "is configured with "+list(c.Nodes))
	}
	if len(c.Reach) > 0 {
		parts = append(parts, "reaches "+list(c.Reach))
	}
	if len(c.FarNodes) > 0 {
		parts = append(parts, fmt.Sprintf("is %s away from %s", c.FarDelay, list(c.FarNodes)))
	}
	if !c.TTL.IsZero() {
		parts = append(parts, "uses a TTL of "+c.TTL.String())
	}
	if len(parts) == 0 {
		return "reaches every node"
	}
	return list(parts)
}

func (p *page) script(steps []scenarios.Step, indent string) {
	for i, step := range steps {
		p.text(fmt.Sprintf("%s%2d. ", indent, i+1), StepText(step))
	}
}

// work tells the workload and the seeded faults beside it.
func (p *page) work(s *scenarios.Scenario) {
	if w := s.Workload; w != nil {
		p.section("Workload")
		p.text("  ", fmt.Sprintf("%s%s in loops over %s for %s: each holds the lock for about %s, and waits about %s before it asks again.",
			plural(w.Clients, "client"), threadsText(w.Threads), plural(w.Keys, "key"), w.For, w.Hold, w.Think))
	}
	if len(s.Nemesis) > 0 {
		p.section("Faults, drawn from the seed")
	}
	for _, r := range s.Nemesis {
		p.text("  ", RandomText(r))
	}
}

func threadsText(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" of %d threads", n)
}

func (p *page) expectations(expect map[string]string, indent string) {
	for _, property := range checker.Names() {
		if verdict := expect[property]; verdict != "" {
			p.line(fmt.Sprintf("%s%s %s: %s", indent, p.screen.sign(verdict), property, verdict))
		}
	}
}

func (p *page) variant(v scenarios.Variant) {
	p.line("  " + clean(v.Name))
	p.expectations(v.Expect, "    ")
	if len(v.Expect) == 0 {
		p.line("    the same is expected")
	}
	if len(v.Script) > 0 {
		p.line("    with a schedule of its own:")
		p.script(v.Script, "    ")
	}
}
