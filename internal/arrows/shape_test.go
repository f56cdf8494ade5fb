package arrows

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Two lines fit side by side, and a function fits on a screen.
const maxColumns, maxFunctionLines = 120, 60

// Test functions may be long.
func TestGoFiles_ShortLinesAndFunctions(t *testing.T) {
	for _, file := range goFiles(t) {
		requireShortLines(t, file)
		// The functions of league are long lists of findings about other people's locks.
		if !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, filepath.Join(root, "league")) {
			requireShortFunctions(t, file)
		}
	}
}

// With cgo, a package with C sources beside its Go files does not build. Only the tests here are without it.
func TestGoFiles_NoCSourceBesideThem(t *testing.T) {
	for _, file := range goFiles(t) {
		sources, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.c"))
		require.NoError(t, err)
		require.Empty(t, sources, "move them to a folder of their own")
	}
}

func requireShortLines(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if columns := utf8.RuneCount(lines.Bytes()); columns > maxColumns {
			t.Errorf("%s:%d: %d columns, more than %d", file, n, columns, maxColumns)
		}
	}
	require.NoError(t, lines.Err())
}

func requireShortFunctions(t *testing.T, file string) {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range tree.Decls {
		if f, is := d.(*ast.FuncDecl); is {
			lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
			if lines > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, more than %d", files.Position(f.Pos()), f.Name.Name, lines, maxFunctionLines)
			}
		}
	}
}
