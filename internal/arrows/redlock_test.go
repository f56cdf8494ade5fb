package arrows

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One exception: a Linux clock needs the package for system calls.
func TestRedlock_ImportsOnlyTheStandardLibrary(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "redlock", "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range parsed.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			first, _, _ := strings.Cut(path, "/")
			if path != "golang.org/x/sys/unix" {
				require.NotContains(t, first, ".", "%s imports %s", file, path)
				require.NotEqual(t, "lockproof", first, "%s imports %s", file, path)
			}
		}
	}
	require.NotEmpty(t, files)
}
