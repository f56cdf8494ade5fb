package needs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// told is a test that ends as it is told to, and keeps what it was told.
type told struct {
	testing.TB
	skipped, failed string
}

func (t *told) Helper() {}

func (t *told) Skipf(format string, args ...any) {
	t.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (t *told) Fatalf(format string, args ...any) {
	t.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// check is how a test ends that checks a need.
func check(n Need, lack error) *told {
	t := &told{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Check(t, n, lack)
	}()
	<-done
	return t
}

func TestWhatIsLackingSkipsOrFails(t *testing.T) {
	lack := errors.New("redis-server was not found")
	for _, c := range []struct {
		required string
		lack     error
		skipped  string
		failed   string
	}{
		{"", nil, "", ""},
		{"redis-server", nil, "", ""},
		{"", lack, "skipped for want of redis-server: redis-server was not found", ""},
		{"compiler redis", lack, "skipped for want of redis-server: redis-server was not found", ""},
		{"compiler redis-server", lack, "", "LOCKPROOF_TESTS_REQUIRE says that there must be redis-server: redis-server was not found"},
	} {
		t.Setenv(RequireVariable, c.required)
		ended := check(Redis, c.lack)
		require.Equal(t, c.skipped, ended.skipped, c.required)
		require.Equal(t, c.failed, ended.failed, c.required)
	}
}

func TestASkipTellsItsReason(t *testing.T) {
	t.Setenv(RequireVariable, "")
	names := map[string]bool{}
	for _, n := range All {
		require.False(t, names[n.Name], "two needs are called %s", n.Name)
		names[n.Name] = true
		found, ok := Of("    a_test.go:12: " + check(n, errors.New("there is none")).skipped)
		require.True(t, ok, n.Name)
		require.Equal(t, n, found)
	}
	for _, output := range []string{"", "--- SKIP: TestX", mark + "luck: there is none"} {
		_, ok := Of(output)
		require.False(t, ok, output)
	}
}

// Every skip has a reason that `make test` can count: nobody else calls the
// testing package's own methods. Names of the receivers tell those from a
// property's, which throws away what was drawn. What locktest skips, it skips in
// the test of a lock's author.
func TestNobodySkipsWithoutAReason(t *testing.T) {
	files := token.NewFileSet()
	calls := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "locktest" && !strings.HasSuffix(path, "_test.go") {
			return nil // it skips a user's subtests, for reasons of their lock's
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, call.Sel.Name) {
				return true
			}
			if receiver, ok := call.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, receiver.Name) {
				if filepath.Base(filepath.Dir(path)) == "locktest" {
					return true
				}
				calls++
				if filepath.Base(filepath.Dir(path)) != "needs" {
					t.Errorf("%s: it is to call needs.Check, which gives a reason", files.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	}))
	require.Equal(t, 1, calls, "Check's own")
}
