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

// points is the package that the rewritten files import, under the name alias.
var points = reflect.TypeFor[interleave.Wait]().PkgPath()

const alias = "lockproofinterleave"

// change inserts a text into a file, in place of drop bytes.
type change struct {
	at   token.Pos
	drop int
	text string
}

// file is a source file that gets points.
type file struct {
	set     *token.FileSet
	info    *types.Info
	changes []change
	points  int
}

// rewritten returns a file's source with points, and their number.
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

// point is the text of a call to interleave.Point.
func (f *file) point(at token.Pos) string { return alias + ".Point(" + f.place(at) + ")" }

// place is the quoted position of a point.
func (f *file) place(at token.Pos) string {
	f.points++
	p := f.set.PositionFor(at, false)
	return strconv.Quote(fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line))
}

// statements adds points before operations that other goroutines can see.
func (f *file) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.DeferStmt:
			if f.visible(s.Call) {
				f.add(s.End(), "; defer "+f.point(s.Pos())) // a later defer runs earlier
			}
			continue
		case *ast.CaseClause, *ast.CommClause: // Inspect visits each of them
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

// sync replaces calls of package sync that lock, unlock, or run a function under a mutex: m.Lock() becomes
// Lock("file.go:7", m.Lock).
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

// visible reports whether other goroutines may see an effect of the statement itself, without the blocks and function
// literals in it.
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

// visibleCall reports whether a call closes a channel, uses sync/atomic or a method of sync that is not a point by
// itself, or has a context, as a call to a server has.
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

// ofContext reports whether a call is to package context itself, and so to no server.
func (f *file) ofContext(call *ast.CallExpr) bool {
	fn := f.called(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "context"
}

// called returns the function or method of a call, nil if it calls a value.
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

// ofSync returns the name of the called function or method of package sync, "" for any other call.
func (f *file) ofSync(call *ast.CallExpr) (name string, method bool) {
	fn := f.called(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync" {
		return "", false
	}
	return fn.Name(), fn.Signature().Recv() != nil
}
