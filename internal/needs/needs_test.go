package needs

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeTB is a test that records its end.
type fakeTB struct {
	testing.TB
	skipped, failed string
}

func (t *fakeTB) Helper() {}

func (t *fakeTB) Skipf(format string, args ...any) {
	t.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (t *fakeTB) Fatalf(format string, args ...any) {
	t.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// check runs Check in a fake test and returns its record.
func check(n Need, lack error) *fakeTB {
	t := &fakeTB{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Check(t, n, lack)
	}()
	<-done
	return t
}

// short switches -short on or off for the test.
func short(t *testing.T, on bool) {
	before := flag.Lookup("test.short").Value.String()
	require.NoError(t, flag.Set("test.short", strconv.FormatBool(on)))
	t.Cleanup(func() { _ = flag.Set("test.short", before) })
}

func TestCheck_SkipsOrFails(t *testing.T) {
	short(t, false)
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
		{"compiler redis-server", lack, "", "LOCKPROOF_TESTS_REQUIRE says that there must be redis-server: redis-server " +
			"was not found"},
	} {
		t.Setenv(RequireVariable, c.required)
		ended := check(Redis, c.lack)
		require.Equal(t, c.skipped, ended.skipped, c.required)
		require.Equal(t, c.failed, ended.failed, c.required)
	}
}

// Installed or not.
func TestCheck_Short_SkipsExternalPrograms(t *testing.T) {
	short(t, true)
	t.Setenv(RequireVariable, "redis-server")
	for _, n := range All {
		ended := check(n, nil)
		require.Equal(t, n.External, ended.skipped != "", n.Name)
		require.Empty(t, ended.failed)
	}
}

func TestParseSkip_EveryNeed(t *testing.T) {
	short(t, false)
	t.Setenv(RequireVariable, "")
	names := map[string]bool{}
	for _, n := range All {
		require.False(t, names[n.Name], "two needs are called %s", n.Name)
		names[n.Name] = true
		found, ok := ParseSkip("    a_test.go:12: " + check(n, errors.New("there is none")).skipped)
		require.True(t, ok, n.Name)
		require.Equal(t, n, found)
	}
	for _, output := range []string{"", "--- SKIP: TestX", mark + "luck: there is none"} {
		_, ok := ParseSkip(output)
		require.False(t, ok, output)
	}
}

// Only needs calls the testing package's own methods, so that `make test` can count the reasons. The receiver's name
// excludes rapid's methods, which discard a drawn value. locktest is excepted: it skips tests of a lock's author. So is
// the league, whose tests make a table.
func TestSkips_OnlyThroughCheck(t *testing.T) {
	files := token.NewFileSet()
	calls := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && path == "../../league" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "locktest" && !strings.HasSuffix(path, "_test.go") {
			return nil // it skips a user's subtests
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
					t.Errorf("%s: call needs.Check or needs.Long, which record the reason", files.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	}))
	require.Equal(t, 1, calls, "the call in Check")
}
