package reports

import (
	"cmp"
	"fmt"
	"strings"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/scenarios"
)

// Catalogue lists scenarios as a table: name, clusters, number of variants, title.
func Catalogue(all []*scenarios.Scenario, screen terminal.Screen) string {
	t := terminal.NewTable("scenario", "on", "variants", "title")
	for _, s := range all {
		t.Row(terminal.Clean(s.Name), strings.Join(s.On, " "), fmt.Sprint(len(s.Variants)), terminal.Clean(s.Title))
	}
	return t.Fitted(screen) + "\n" + Plural(len(all), "scenario") + "\n"
}

// ScenarioHead states a scenario's defaults as a comment above its file's text.
func ScenarioHead(s *scenarios.Scenario, screen terminal.Screen) string {
	text := fmt.Sprintf("On %s, with %s, TTL %s, lock %s", list(s.On), Plural(len(s.Nodes), "node"), Duration(s.TTL),
		cmp.Or(s.Lock.Name, locks.Reference))
	if len(s.Variants) > 0 {
		names := make([]string, len(s.Variants))
		for i, v := range s.Variants {
			names[i] = v.Name
		}
		text += "; variants: " + unbroken(names, "; ")
	}
	return "# " + strings.Join(terminal.Hanging("", text, screen.Width-2), "\n# ") + "\n"
}

// ClientText describes how a client differs from one that reaches every node.
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
