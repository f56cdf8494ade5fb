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

// standard are the packages that the test sources import.
var standard = sync.OnceValue(func() []listed {
	packages, err := list(context.Background(), ".", "context", "sync/atomic")
	if err != nil {
		panic(err)
	}
	return packages
})

// body rewrites the body of a function with the variables mu, once, n, ch, ctx and client. In the result, · stands for
// the package.
func body(t *testing.T, text string) string {
	t.Helper()
	source := `package p
import ("context"; "sync"; "sync/atomic")
var (mu sync.Mutex; own owned; emb struct{ sync.RWMutex }; any sync.Locker; ` +
		`once sync.Once; n atomic.Int64; ch chan int; ctx context.Context; client caller)
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
	return strings.ReplaceAll(strings.ReplaceAll(got, alias+".", "·"), `"p.go:9"`, "P")
}

func TestRewritten_VisibleOperations_GetPoints(t *testing.T) {
	for source, want := range map[string]string{
		"ch <- 1":                     "·Point(P); ch <- 1",
		"x := <-ch; _ = x":            "·Point(P); x := <-ch; _ = x",
		"close(ch)":                   "·Point(P); close(ch)",
		"go f()":                      "·Point(P); go f()",
		"for range ch {}":             "·Point(P); for range ch {}",
		"n.Store(1)":                  "·Point(P); n.Store(1)",
		"for n.Load() == 0 {}":        "·Point(P); for n.Load() == 0 { ·Point(P); }",
		`_ = client.Call(ctx, "SET")`: `·Point(P); _ = client.Call(ctx, "SET")`,
		"select { case <-ch: f() }":   "·Point(P); select { case <-ch: ·Point(P);  f() }",
		"defer close(ch)":             "defer close(ch); defer ·Point(P)",
		"func() { ch <- 1 }()":        "func() { ·Point(P); ch <- 1 }()",
	} {
		require.Equal(t, want, body(t, source), source)
	}
}

func TestRewritten_MutexCalls_AreReplaced(t *testing.T) {
	for source, want := range map[string]string{
		"mu.Lock(); f(); mu.Unlock()":  "·Lock(P, mu.Lock); f(); ·Unlock(P, mu.Unlock)",
		"mu.Lock(); defer mu.Unlock()": "·Lock(P, mu.Lock); defer ·Unlock(P, mu.Unlock)",
		"if mu.Lock(); true {}":        "if ·Lock(P, mu.Lock); true {}",
		"L: mu.Lock(); goto L":         "L: ·Lock(P, mu.Lock); goto L",
		"(mu.Lock)()":                  "·Lock(P, (mu.Lock))",
		"emb.Lock()":                   "·Lock(P, emb.Lock)",
		"any.Lock()":                   "·Lock(P, any.Lock)",
		"if mu.TryLock() {}":           "·Point(P); if ·TryLock(mu.TryLock) {}",
		"once.Do(f)":                   "·Do(P, once.Do, f)",
		"_ = sync.OnceFunc(f)":         "_ = sync.OnceFunc(·Held(f))",
		"_ = sync.OnceValue(own.Load)": "_ = sync.OnceValue(·HeldValue(own.Load))",
	} {
		require.Equal(t, want, body(t, source), source)
	}
}

func TestRewritten_InvisibleOperations_GetNoPoint(t *testing.T) {
	for _, source := range []string{"own.Lock()", "_ = own.Load()", "x := 1; _ = x",
		"ctx, cancel := context.WithCancel(ctx); _, _ = ctx, cancel"} {
		require.Equal(t, source, body(t, source))
	}
}
