package rewrite

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"example.org/lockproof/harness/interleave"
)

// points is the package that the rewritten files call, and the name that they give it.
var points = reflect.TypeFor[interleave.Wait]().PkgPath()

const alias = "lockproofinterleave"

// change is a text that is added to a file, in place of so many bytes.
type change struct {
	at   token.Pos
	drop int
	text string
}

// file is a file that gets points.
type file struct {
	set     *token.FileSet
	info    *types.Info
	changes []change
	points  int
}

// rewritten is a file's source with points, and how many there are.
func rewritten(set *token.FileSet, syntax *ast.File, source []byte, info *types.Info) ([]byte, int) {
	f := &file{set: set, info: info}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
		case *ast.CommClause:
			f.add(n.Colon+1, " "+f.point(n.Pos())+"; ")
			f.statements(n.Body)
		case *ast.CallExpr:
			f.sync(n)
		}
		return true
	})
	if len(f.changes) == 0 {
		return source, 0
	}
	f.add(syntax.Name.End(), fmt.Sprintf("; import %s %q", alias, points))
	f.add(syntax.FileEnd, fmt.Sprintf("\nvar _ = %s.Built()\n", alias))
	slices.SortStableFunc(f.changes, func(a, b change) int { return int(a.at - b.at) })
	var b bytes.Buffer
	done := 0
	for _, c := range f.changes {
		at := min(set.PositionFor(c.at, false).Offset, len(source))
		b.Write(source[done:at])
		b.WriteString(c.text)
		done = at + c.drop
	}
	b.Write(source[done:])
	return b.Bytes(), f.points
}

func (f *file) add(at token.Pos, text string) { f.changes = append(f.changes, change{at, 0, text}) }

// point is a call that lets others go first, at a place of the source.
func (f *file) point(at token.Pos) string { return alias + ".Point(" + f.place(at) + ")" }

// place is where a point stands, quoted.
func (f *file) place(at token.Pos) string {
	f.points++
	p := f.set.PositionFor(at, false)
	return strconv.Quote(fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line))
}

// statements puts points before what others can see.
func (f *file) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.DeferStmt:
			if f.visible(s.Call) {
				f.add(s.End(), "; defer "+f.point(s.Pos())) // what is deferred later runs before
			}
			continue
		case *ast.CaseClause, *ast.CommClause: // each is looked at by itself
			continue
		case *ast.ForStmt:
			if s.Cond != nil && f.visible(s.Cond) {
				f.add(s.Body.Lbrace+1, " "+f.point(s.Cond.Pos())+"; ")
			}
		}
		if f.visible(s) {
			f.add(s.Pos(), f.point(s.Pos())+"; ")
		}
	}
}

// sync has the calls of package sync's that take a mutex, give it back, or call a function under one made by package
// interleave: m.Lock() becomes Lock("file.go:7", m.Lock).
func (f *file) sync(call *ast.CallExpr) {
	name, method := f.ofSync(call)
	held := map[string]string{"OnceFunc": "Held", "OnceValue": "HeldValue", "OnceValues": "HeldValues"}[name]
	switch {
	case !method && held != "":
		f.add(call.Lparen+1, alias+"."+held+"(")
		f.add(call.Rparen, ")")
	case !method:
	case name == "Lock", name == "RLock":
		f.add(call.Pos(), alias+".Lock("+f.place(call.Pos())+", ")
		f.changes = append(f.changes, change{call.Lparen, 1, ""})
	case name == "Unlock", name == "RUnlock":
		f.add(call.Pos(), alias+".Unlock("+f.place(call.Pos())+", ")
		f.changes = append(f.changes, change{call.Lparen, 1, ""})
	case name == "TryLock", name == "TryRLock":
		f.add(call.Pos(), alias+".TryLock(")
		f.changes = append(f.changes, change{call.Lparen, 1, ""})
	case name == "Do":
		f.add(call.Pos(), alias+".Do("+f.place(call.Pos())+", ")
		f.changes = append(f.changes, change{call.Lparen, 1, ", "})
	}
}

// visible reports whether a statement itself, without the blocks and function literals in it, does
// what another goroutine may see.
func (f *file) visible(n ast.Node) (found bool) {
	ast.Inspect(n, func(inner ast.Node) bool {
		switch inner := inner.(type) {
		case *ast.FuncLit, *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			return inner == n
		case *ast.SendStmt, *ast.GoStmt, *ast.SelectStmt:
			found = true
		case *ast.RangeStmt:
			if t := f.info.TypeOf(inner.X); t != nil {
				_, channel := t.Underlying().(*types.Chan)
				found = found || channel
			}
		case *ast.UnaryExpr:
			found = found || inner.Op == token.ARROW
		case *ast.CallExpr:
			found = found || f.visibleCall(inner)
		}
		return !found
	})
	return found
}

// visibleCall: it closes a channel, is one of sync/atomic's or of sync's other than those that are points by
// themselves, or takes a context, as a call to a server does.
func (f *file) visibleCall(call *ast.CallExpr) bool {
	if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "close" {
		_, builtin := f.info.Uses[name].(*types.Builtin)
		return builtin
	}
	if name, method := f.ofSync(call); name != "" {
		return method && !slices.Contains([]string{"Lock", "RLock", "Unlock", "RUnlock", "Do"}, name)
	}
	if fn := f.called(call); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic" {
		return true
	}
	if len(call.Args) == 0 {
		return false
	}
	t := f.info.TypeOf(call.Args[0])
	return t != nil && t.String() == "context.Context" && !f.ofContext(call)
}

// ofContext: a function of package context itself touches no server.
func (f *file) ofContext(call *ast.CallExpr) bool {
	fn := f.called(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "context"
}

// called is the function or method that a call names, nil if it calls a value.
func (f *file) called(call *ast.CallExpr) *types.Func {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		fn, _ := f.info.Uses[fun].(*types.Func)
		return fn
	case *ast.SelectorExpr:
		fn, _ := f.info.Uses[fun.Sel].(*types.Func)
		return fn
	}
	return nil
}

// ofSync is the name of the function or method of package sync that is called, "" for any other call.
func (f *file) ofSync(call *ast.CallExpr) (name string, method bool) {
	fn := f.called(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync" {
		return "", false
	}
	return fn.Name(), fn.Signature().Recv() != nil
}
