package yamlfile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func path(steps ...any) Path { return Path{Steps: steps} }

// An edit changes the one value that it is for, and leaves comments and layout as they are.
func TestPut(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		path  Path
		value any
		want  string
	}{
		"a text": {"# top\na: {b: old} # why\nc:  [1,  2]\n", path("a", "b"), "new words", "# top\n" +
			"a: {b: new words} # why\nc:  [1,  2]\n"},
		"a text in quotes":                {"a: \"old\" # why\n", path("a"), "yes", "a: \"yes\" # why\n"},
		"a text that looks like a number": {"a: x # why\n", path("a"), "60", "a: \"60\" # why\n"},
		"an item":                         {"a: [x,  \"no\",   z] # why\n", path("a"), []any{"x", "yes", "z"}, "a: [x,  \"yes\",   z] # why\n"},
		"items at the end":                {"a: [x]\nb: 1\n", path("a"), []any{"x", "--y", "z z"}, "a: [x, --y, \"z z\"]\nb: 1\n"},
		"an item on a line": {"a:\n  # first\n  - x # one\n  - y\nb: 1\n", path("a"), []any{"x", "z"}, "a:\n" +
			"  # first\n  - x # one\n  - z\nb: 1\n"},
		"lines at the end": {"a:\n  - x # one\nb: 1\n", path("a"), []any{"x", "why", "z"}, "a:\n  - x # one\n" +
			"  - why\n  - z\nb: 1\n"},
		"a list anew": {"k:\n  a:\n    - x\n    - y\n  b: 1\n", path("k", "a"), []any{"p", "q"}, "k:\n  a: [p, q]\n  b: 1\n"},
		"a list for a text": {"a: x y z\n", path("a"), []any{"sh", "-c", "sleep 31 && exec \"x\""},
			"a: [sh, -c, \"sleep 31 && exec \\\"x\\\"\"]\n"},
		"a new key": {"a:\n  - image: redis:7 # why\n    x: 1\n", path("a", 0, "new"), "v", "a:\n" +
			"  - image: redis:7 # why\n    new: v\n    x: 1\n"},
		"a new key at the end": {"image: redis", path("new"), map[string]any{"b": 1, "a": []any{"x"}}, "image: redis\n" +
			"new: {a: [x], b: 1}"},
		"a new key in brackets":         {"{image: redis, x: 1}\n", path("new"), "v", "{image: redis, new: v, x: 1}\n"},
		"of letters that are not ASCII": {"ä: {ö: \"ü\", a: x}\n", path("ä", "a"), "z", "ä: {ö: \"ü\", a: z}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Put([]byte(tt.text), tt.path, tt.value, "image")
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
}

// Where more might change than is meant, nothing does.
func TestPutRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		path  Path
		value any
	}{
		"an alias":                     {"x: &x {b: 1}\na: *x\n", path("a", "b"), "new"},
		"an anchor":                    {"x: &x old\na: *x\n", path("x"), "new"},
		"a text over lines":            {"a: one\n  two\n", path("a"), "new"},
		"a comment in a list anew":     {"a:\n  - x # one\n  - y\n", path("a"), []any{"p", "q"}},
		"carriage returns":             {"a: x\r\n", path("a"), "new"},
		"nothing to stand after":       {"a: {b: 1}\n", path("a", "new"), "v"},
		"a document that is not there": {"a: x\n", Path{Document: 1, Steps: []any{"a"}}, "new"},
		"no YAML":                      {"a: [", path("a"), "new"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Put([]byte(tt.text), tt.path, tt.value, "image")
			require.Error(t, err)
		})
	}
}

func TestPutLine(t *testing.T) {
	text := "---\na: 1\n---\ndata:\n  x.conf: | # settings\n\n    # first\n    one 1\n      two 2\n\n  other: 1\n"
	at := Path{Document: 1, Steps: []any{"data", "x.conf"}}
	if tree, _ := Parse([]byte(text)); len(tree.Docs) == 2 {
		at.Document = 1
	}
	got, err := PutLine([]byte(text), at, 3, "one 2")
	require.NoError(t, err)
	require.Equal(t, "---\na: 1\n---\ndata:\n  x.conf: | # settings\n\n    # first\n    one 2\n      two 2\n\n  other: 1\n", string(got))
	got, err = PutLine([]byte("data:\n  x.conf: |-\n    one 1"), path("data", "x.conf"), 0, "two 2")
	require.NoError(t, err)
	require.Equal(t, "data:\n  x.conf: |-\n    one 1\n    two 2", string(got))
	for _, folded := range []string{"a: >\n  one\n  two\n", "a: \"one\\ntwo\"\n", "a: |\n\n", "a: 1\n"} {
		_, err = PutLine([]byte(folded), path("a"), 0, "three")
		require.Error(t, err, folded)
	}
	_, err = PutLine([]byte(text), at, 9, "three")
	require.Error(t, err)
}

func FuzzPut(f *testing.F) {
	f.Add("services:\n  a:\n    image: redis\n    command:\n    - x\n", "command")
	f.Add("services: {a: {image: \"redis\", command: 'x y'}}", "command")
	f.Add("services:\n  a:\n    image: redis # x\n", "command")
	f.Fuzz(func(t *testing.T, text, key string) {
		for _, value := range []any{"new value", []any{"sh", "-c", "x \"y\""}} {
			got, err := Put([]byte(text), path("services", "a", key), value, "image")
			if err == nil { // and then it is read as it was meant
				require.NoError(t, onlyThat([]byte(text), got, path("services", "a", key), value))
			}
		}
		_, _ = PutLine([]byte(text), path("services", "a", key), 0, "appendonly yes")
	})
}
