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

// Each folder of the tree exists, and each room is in the tree, in its own line or by name in that of the room above.
// Rooms inside compose/, internal/ and a single cluster are optional.
func TestTreeDocument_ListsEveryFolder(t *testing.T) {
	lines := tree(t)
	for name := range lines {
		require.DirExists(t, filepath.Join(root, name), "docs/tree.md's tree has it")
	}
	for _, room := range slices.Sorted(maps.Keys(rooms(t))) {
		top, _, _ := strings.Cut(room, "/")
		above, name := path.Split(room)
		switch {
		case lines[room] != "", strings.Count(room, "/") > 2:
		case slices.Contains([]string{"compose", "internal"}, top):
			require.NotEmpty(t, lines[top], "docs/tree.md's tree does not name %s", top)
		default:
			require.Contains(t, lines[path.Clean(above)], " "+name+"/", "docs/tree.md's tree does not name %s", room)
		}
	}
}

// tree returns the text of each folder's line in docs/tree.md.
func tree(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "tree.md"))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(data), "## The tree\n\n```\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "```")
	require.True(t, found)
	lines := map[string]string{}
	var top, last string
	for line := range strings.Lines(text) {
		match := folder.FindStringSubmatch(line)
		switch {
		case match != nil && match[1] == "":
			top, last = match[2], match[2]
		case match != nil && match[1] == "  ":
			last = path.Join(top, match[2])
		}
		lines[last] += line
	}
	return lines
}
