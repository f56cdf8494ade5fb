package inputtest

import (
	"fmt"
	"strings"
)

// YAML returns texts of a few kilobytes that cost a YAML library hours or all memory: aliases of aliases, merge keys of
// merge keys, nesting, empty lines.
func YAML() []string {
	return []string{
		Doubling("&%s [%s, %s]"), Doubling("&%s {<<: [%s, %s], k: v}"), "a: &a [*a]\n",
		strings.Repeat("[", 19_000), strings.Repeat("{a: ", 6_000), strings.Repeat("- ", 19_000),
		"a: |\n" + strings.Repeat("\n", 40_000), strings.Repeat("a: b\n", 50_000), strings.Repeat("---\na\n", 20_000),
		"a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 6_000) + "]\n",
	}
}

// Doubling makes 30 lines of YAML, each of which expands to twice the one before. The form has places for an anchor and
// two aliases.
func Doubling(form string) string {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: y}\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, "a%d: "+form+"\n", i, fmt.Sprint("a", i), fmt.Sprint("*a", i-1), fmt.Sprint("*a", i-1))
	}
	return b.String()
}
