package rewrite

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// standard are the packages that the texts import.
var standard = sync.OnceValue(func() []listed {
	packages, err := list(context.Background(), ".", "context", "sync/atomic")
	if err != nil {
		panic(err)
	}
	return packages
})

// body rewrites the body of a function that has mu, once, n, ch, ctx and client, and gives it with · for the package.
func body(t *testing.T, text string) string {
	t.Helper()
	source := `package p
import ("context"; "sync"; "sync/atomic")
var (mu sync.Mutex; own owned; once sync.Once; n atomic.Int64; ch chan int; ctx context.Context; client caller)
type caller interface{ Call(ctx context.Context, command string) error }
type owned struct{}
func (owned) Lock() {}
func (owned) Load() int { return 0 }
func f() {
	` + text + "\n}\n"
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, "p.go", source, parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	exports := map[string]string{}
	for _, p := range standard() {
		exports[p.ImportPath] = p.Export
	}
	_, err = (&types.Config{Importer: compiled(set, exports, nil)}).Check("p", set, []*ast.File{syntax}, info)
	require.NoError(t, err)
	changed, _ := rewritten(set, syntax, []byte(source), info)
	_, err = parser.ParseFile(token.NewFileSet(), "p.go", changed, 0)
	require.NoError(t, err, "%s", changed)
	_, got, _ := strings.Cut(string(changed), "func f() {\n\t")
	got, _, _ = strings.Cut(got, "\n}\n")
	return strings.ReplaceAll(strings.ReplaceAll(got, alias+".", "·"), `Point("p.go:9")`, "P")
}

func TestRewritten_PointsStandWhereGoroutinesCanSeeOfEachOther(t *testing.T) {
	for source, want := range map[string]string{
		"ch <- 1":                     "·P; ch <- 1",
		"x := <-ch; _ = x":            "·P; x := <-ch; _ = x",
		"close(ch)":                   "·P; close(ch)",
		"go f()":                      "·P; go f()",
		"for range ch {}":             "·P; for range ch {}",
		"n.Store(1)":                  "·P; n.Store(1)",
		"for n.Load() == 0 {}":        "·P; for n.Load() == 0 { ·P; }",
		`_ = client.Call(ctx, "SET")`: `·P; _ = client.Call(ctx, "SET")`,
		"select { case <-ch: f() }":   "·P; select { case <-ch: ·P;  f() }",
		"defer close(ch)":             "defer close(ch); defer ·P",
		"func() { ch <- 1 }()":        "func() { ·P; ch <- 1 }()",
	} {
		require.Equal(t, want, body(t, source), source)
	}
}

func TestRewritten_WhoHoldsAMutexIsKnown(t *testing.T) {
	for source, want := range map[string]string{
		"mu.Lock(); f(); mu.Unlock()":           "·P; mu.Lock(); ·Locked(); f(); mu.Unlock(); ·Unlocked(); ·P",
		"mu.Lock(); defer mu.Unlock()":          "·P; mu.Lock(); ·Locked(); defer ·P; defer ·Unlocked(); defer mu.Unlock()",
		"if mu.TryLock() { mu.Unlock() }":       "·P; if ·Tried(mu.TryLock()) { mu.Unlock(); ·Unlocked(); ·P }",
		"once.Do(f)":                            "·P; ·Locked(); once.Do(f); ·Unlocked()",
		"if true { mu.Lock() } else { return }": "if true { ·P; mu.Lock(); ·Locked() } else { return }",
	} {
		require.Equal(t, want, body(t, source), source)
	}
}

func TestRewritten_WhatNobodySees_HasNoPoint(t *testing.T) {
	for _, source := range []string{"own.Lock()", "_ = own.Load()", "ctx, cancel := context.WithCancel(ctx); _, _ = ctx, cancel", "x := 1; _ = x"} {
		require.Equal(t, source, body(t, source))
	}
}
