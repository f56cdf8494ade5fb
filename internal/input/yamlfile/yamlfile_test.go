package yamlfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/input/inputtest"
)

// Texts of a few kilobytes that could take hours, or all memory.
var bombs = map[string]struct{ text, want string }{
	"aliases of aliases": {inputtest.Doubling("&%s [%s, %s]"), "with its aliases written out, the file has more than " +
		"20000 values"},
	"merge keys of merges": {inputtest.Doubling("&%s {<<: [%s, %s], k: v}"),
		"with its aliases written out, the file has more than 20000 values"},
	"an alias of itself":             {"a: &a [*a]\n", "1:8: the alias *a has no anchor before it"},
	"an alias of another document's": {"a: &a x\n---\nb: *a\n", "3:4: the alias *a has no anchor before it"},
	"open lists": {strings.Repeat("[", 15_000), "1:65: lists and mappings are more than 64 deep in " +
		"one another"},
	"open mappings":     {strings.Repeat("{a: ", 4_000), "lists and mappings are more than 64 deep in one another"},
	"lists in one line": {strings.Repeat("- ", 15_000), "1:129: lists and mappings are more than 64 deep in one another"},
	"indented mappings": {indented(300), "lists and mappings are more than 64 deep in one another"},
	"empty lines":       {"a: |\n" + strings.Repeat("\n", 30_000), "102:1: there are more than 100 empty lines in a row"},
	"blank lines":       {"a: |\n" + strings.Repeat(" \t\r", 30_000), "there are more than 100 empty lines in a row"},
	"many keys":         {strings.Repeat("a: b\n", 30_000), "the file has more than 20000 words and signs"},
	"many documents":    {strings.Repeat("---\na\n", 3_000), "401:1: the file has more than 200 documents"},
	"values in documents": {strings.Repeat("---\n- &a ["+strings.Repeat("x,", 60)+"]\n- [*a, *a, *a, *a]\n", 100),
		"with its aliases written out"},
	"many bytes": {strings.Repeat("#", 1<<20), "1:1: the file has 1048576 bytes; it may have at most 262144"},
	"bad text":   {"a: \xff", "1:4: the text is not UTF-8"},
	"aliases of a long text": {"a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 2_000) +
		"]\n", "with its aliases written out"},
	"aliases of a long block": {"a: &a |\n" + strings.Repeat("  x\n", 30_000) + "b: [" + strings.Repeat("*a,", 2_000) +
		"]\n", "with its aliases written out"},
	"deep by aliases": {chain(50), "lists and mappings are more than 64 deep in one another"},
}

func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// chain nests lists by aliases only, ten at each link.
func chain(links int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := 1; i < links; i++ {
		fmt.Fprintf(&b, "a%d: &a%d %s*a%d%s\n", i, i, strings.Repeat("[", 10), i-1, strings.Repeat("]", 10))
	}
	return b.String()
}

func TestBombs(t *testing.T) {
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			_, err := read(bomb.text)
			require.NotNil(t, err)
			require.Contains(t, err.Error(), bomb.want)
			require.Positive(t, err.Line)
			require.Positive(t, err.Column)
		})
	}
}

func read(text string) ([]Document, *Error) {
	tree, err := Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return Decode(tree)
}

func TestDecode(t *testing.T) {
	documents, err := read(`base: &base {restart: always, image: redis}
one:
  <<: *base
  image: valkey
list: [*base, 1, "x"]
---
# a comment
second: ` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `
`)
	require.Nil(t, err)
	require.Len(t, documents, 2)
	base := map[string]any{"restart": "always", "image": "redis"}
	require.Equal(t, map[string]any{
		"base": base, "one": map[string]any{"restart": "always", "image": "valkey"}, "list": []any{base, uint64(1), "x"},
	}, documents[0].Value)
	require.Contains(t, documents[1].Value, "second")
}

func FuzzDecode(f *testing.F) {
	for _, text := range inputtest.YAML() {
		f.Add(text)
	}
	for _, bomb := range bombs {
		f.Add(bomb.text)
	}
	f.Add("a: &a {b: [1, 2.5, true, ~]}\nc: {<<: *a, d: !!str x}\n? [e]\n: |\n  text\n---\n- - f\n")
	f.Fuzz(func(t *testing.T, text string) {
		inputtest.Bounded(t, len(text), func() {
			documents, err := read(text)
			require.True(t, documents == nil || err == nil)
			if err != nil {
				require.Positive(t, err.Line)
				require.NotEmpty(t, err.What)
				require.NotEmpty(t, err.Right)
			}
		})
	})
}

// Charts leave documents that have only comments. Positions must not change.
func TestDecode_CommentOnlyDocuments_HideNoOthers(t *testing.T) {
	for _, text := range []string{
		"a: 1\n---\n# none\n---\nb: 2\n", "---\na: 1\n--- # none\n\n---\n---\n# two\nb: 2\n",
		"a: 1\r\n---\r\n# none\r\n---\r\nb: 2\r\n",
		"---\n# none\n---\na: 1\n---\nb: 2\n---\n",
	} {
		tree, wrong := Parse([]byte(text))
		require.Nil(t, wrong, text)
		found, wrong := Decode(tree)
		require.Nil(t, wrong, text)
		require.Len(t, found, 2, text)
		require.Equal(t, map[string]any{"b": uint64(2)}, found[1].Value, text)
		line := 1 + strings.Count(text[:strings.Index(text, "b: 2")], "\n")
		require.Equal(t, line, found[1].Body.GetToken().Position.Line, text)
	}
}
