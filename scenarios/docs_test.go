package scenarios

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

const documentFile = "../docs/scenarios.md"

func document(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(documentFile)
	require.NoError(t, err)
	return string(data)
}

func TestDocument_ExamplesLoad(t *testing.T) {
	blocks := strings.Split(document(t), "```yaml\n")[1:]
	require.GreaterOrEqual(t, len(blocks), 2)
	scripts, workloads := 0, 0
	for _, block := range blocks {
		text, _, closed := strings.Cut(block, "```")
		require.True(t, closed)
		s, err := Parse(documentFile, []byte(text))
		require.NoError(t, err)
		scripts += min(len(s.Script), 1)
		if s.Workload != nil {
			workloads++
		}
	}
	require.Positive(t, scripts)
	require.Positive(t, workloads)
}

func TestDocument_VerbTable(t *testing.T) {
	var table strings.Builder
	for _, u := range Usages() {
		table.WriteString(tableRow(u))
	}
	require.True(t, strings.Contains(document(t), table.String()), "put this table into %s:\n%s", documentFile, &table)
}

// A new property and a new bound come with their declarations; the documents must name them, too.
func TestDocuments_NameEveryPropertyAndBound(t *testing.T) {
	results, err := os.ReadFile("../docs/results.md")
	require.NoError(t, err)
	for _, property := range checker.Names() {
		require.True(t, strings.Contains(document(t), "`"+property+"`"), "docs/scenarios.md, expect: %s", property)
		require.True(t, strings.Contains(string(results), "`"+property+"`"), "docs/results.md, property: %s", property)
	}
	for _, bound := range history.BoundNames {
		require.True(t, strings.Contains(document(t), "| `"+bound+"` |"), "docs/scenarios.md, bounds: %s", bound)
	}
}

func TestDocument_ModifiersAndValues(t *testing.T) {
	text := document(t)
	for modifier := range modifierReaders() {
		require.True(t, strings.Contains(text, "| `"+modifier+"` |"), modifier)
	}
	_, err := Parse("x.yaml", []byte(`
clients: 1
on: "?"
persistence: "?"
restart: "?"
redis: {maxmemory-policy: "?", no-appendfsync-on-rewrite: "?"}
store: {check: "?"}
expect: {mutual-exclusion: "?"}
script:
- {acquire: c1, must: "?"}
- {until: c1-n1, of: SET, has: "?"}
- {hold: c1-n1, of: SET, part: "?"}
- {cut: c1-n1, direction: "?"}
nemesis: [{fault: "?"}]
`))
	accepted := regexp.MustCompile(`unknown value "\?"; the .* are (.*)`).FindAllStringSubmatch(err.Error(), -1)
	require.Len(t, accepted, 12)
	for _, values := range accepted {
		for value := range strings.SplitSeq(values[1], ", ") {
			require.True(t, strings.Contains(text, "`"+value+"`"), value)
		}
	}
}

// The document lists the random faults with their targets and keys.
func TestDocument_RandomFaults(t *testing.T) {
	var faults, targets []string
	of := map[string][]string{} // the faults, by the text of their targets
	with := map[string][]string{}
	for _, name := range randomVerbs() {
		name, fault := string(name), randomDeclaration(name)
		faults = append(faults, "`"+name+"`")
		words := fault.RandomTargets().String()
		if of[words] == nil {
			targets = append(targets, words)
		}
		of[words] = append(of[words], name)
		for _, key := range slices.Concat(fault.Draw.Required, fault.Draw.Optional) {
			with[key] = append(with[key], name)
		}
	}
	var among []string
	for _, words := range targets {
		among = append(among, words+" for "+joinWords(of[words], "and"))
	}
	for _, row := range []string{
		"| `fault` | " + joinWords(faults, "or") + " |\n",
		"| `among` | the targets to draw from: " + strings.Join(among, "; ") + " |\n",
		"| `direction` | " + strings.Join(with["direction"], ", ") + ": ",
		"| `by` | " + strings.Join(with["by"], ", ") + ": ",
		"| `jump`, `rate` | " + strings.Join(with["jump"], ", ") + ": ",
	} {
		require.True(t, strings.Contains(document(t), row), "put this row into %s:\n%s", documentFile, row)
	}
	require.Equal(t, with["jump"], with["rate"], "they share a row")
}

// joinWords writes a list: "a, b and c".
func joinWords(words []string, last string) string {
	if len(words) == 1 {
		return words[0]
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

func TestUsages_AreComplete(t *testing.T) {
	for _, u := range Usages() {
		require.NotEmpty(t, u.Doc, u.Verb)
		require.NotZero(t, u.Targets, u.Verb)
		for _, modifier := range u.modifiers() {
			require.NotNil(t, modifierReaders()[modifier], "%s takes %q, which nothing reads", u.Verb, modifier)
		}
		for _, modifier := range u.Required {
			require.NotEmpty(t, examples[modifier], "no example of %q for an error", modifier)
		}
	}
}

func modifierReaders() map[string]reader { return (&decoder{s: &Scenario{}}).modifiers(&Step{}) }

// tableRow is the verb's row in the table of docs/scenarios.md; required modifiers are bold.
func tableRow(u Usage) string {
	var modifiers []string
	for _, m := range u.Required {
		modifiers = append(modifiers, "**`"+m+"`**")
	}
	for _, m := range u.Optional {
		modifiers = append(modifiers, "`"+m+"`")
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", u.Verb, acceptsText(u.Targets), strings.Join(modifiers, ", "), u.Doc)
}
