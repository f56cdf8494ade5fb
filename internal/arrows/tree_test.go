package arrows

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// folder is a line of docs/tree.md's tree: its indentation, and the folder's name.
var folder = regexp.MustCompile(`^( *)([a-z/]+?)/? +[^ ]`)

// TestTheTreeIsTheFolders: each folder of the tree is there, and each room
// stands in the tree, in a line of its own or by name in that of the room above it.
// Of what compose/, internal/ and a single cluster are made of, it need not speak.
func TestTheTreeIsTheFolders(t *testing.T) {
	says := tree(t)
	for name := range says {
		require.DirExists(t, filepath.Join(root, name), "docs/tree.md's tree has it")
	}
	for _, room := range slices.Sorted(maps.Keys(rooms(t))) {
		top, _, _ := strings.Cut(room, "/")
		above, name := path.Split(room)
		switch {
		case says[room] != "", strings.Count(room, "/") > 2:
		case slices.Contains([]string{"compose", "internal"}, top):
			require.NotEmpty(t, says[top], "docs/tree.md's tree does not name %s", top)
		default:
			require.Contains(t, says[path.Clean(above)], " "+name+"/", "docs/tree.md's tree does not name %s", room)
		}
	}
}

// tree gives docs/tree.md's words on each folder that has a line in its tree.
func tree(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "tree.md"))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(data), "## The tree\n\n```\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "```")
	require.True(t, found)
	says := map[string]string{}
	var top, last string
	for line := range strings.Lines(text) {
		match := folder.FindStringSubmatch(line)
		switch {
		case match != nil && match[1] == "":
			top, last = match[2], match[2]
		case match != nil && match[1] == "  ":
			last = path.Join(top, match[2])
		}
		says[last] += line
	}
	return says
}
