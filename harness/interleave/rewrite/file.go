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

	"lockproof/harness/interleave"
)

// points is the package that the rewritten files call, and the name that they give it.
var points = reflect.TypeFor[interleave.Wait]().PkgPath()

const alias = "lockproofinterleave"

// addition is a text that is added to a file.
type addition struct {
	at   token.Pos
	text string
}

// file is a file that gets points.
type file struct {
	set       *token.FileSet
	info      *types.Info
	additions []addition
	points    int
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
			if f.syncMethod(n) == "TryLock" || f.syncMethod(n) == "TryRLock" {
				f.add(n.Pos(), alias+".Tried(")
				f.add(n.End(), ")")
			}
		}
		return true
	})
	if len(f.additions) == 0 {
		return source, 0
	}
	f.add(syntax.Name.End(), fmt.Sprintf("; import %s %q", alias, points))
	last := syntax.FileEnd
	f.add(last, fmt.Sprintf("\nvar _ = %s.Built()\n", alias))
	slices.SortStableFunc(f.additions, func(a, b addition) int { return int(a.at - b.at) })
	var b bytes.Buffer
	done := 0
	for _, a := range f.additions {
		to := min(set.PositionFor(a.at, false).Offset, len(source))
		b.Write(source[done:to])
		b.WriteString(a.text)
		done = to
	}
	b.Write(source[done:])
	return b.Bytes(), f.points
}

func (f *file) add(at token.Pos, text string) { f.additions = append(f.additions, addition{at, text}) }

// point is a call that lets others go first, at a place of the source.
func (f *file) point(at token.Pos) string {
	f.points++
	p := f.set.PositionFor(at, false)
	return fmt.Sprintf("%s.Point(%q)", alias, fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line))
}

// statements puts points before and after what others can see.
func (f *file) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && f.mutex(s, call) {
				continue
			}
		case *ast.DeferStmt:
			f.deferred(s)
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

// mutex sees to a statement that takes a mutex or gives it back, or that has a function run under one.
func (f *file) mutex(s ast.Stmt, call *ast.CallExpr) bool {
	switch f.syncMethod(call) {
	case "Lock", "RLock":
		f.add(s.Pos(), f.point(s.Pos())+"; ")
		f.add(s.End(), "; "+alias+".Locked()")
	case "Unlock", "RUnlock":
		f.add(s.End(), "; "+alias+".Unlocked(); "+f.point(s.Pos()))
	case "Do": // Once's, which holds a mutex meanwhile
		f.add(s.Pos(), f.point(s.Pos())+"; "+alias+".Locked(); ")
		f.add(s.End(), "; "+alias+".Unlocked()")
	default:
		return false
	}
	return true
}

// deferred sees to a call that is deferred: what is deferred before it runs after it.
func (f *file) deferred(s *ast.DeferStmt) {
	switch f.syncMethod(s.Call) {
	case "Unlock", "RUnlock":
		f.add(s.Pos(), "defer "+f.point(s.Pos())+"; defer "+alias+".Unlocked(); ")
	default:
		if f.visible(s.Call) {
			f.add(s.End(), "; defer "+f.point(s.Pos()))
		}
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

// visibleCall: it closes a channel, is one of sync's or of sync/atomic's, or takes a context, as a call to a
// server does.
func (f *file) visibleCall(call *ast.CallExpr) bool {
	if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "close" {
		_, builtin := f.info.Uses[name].(*types.Builtin)
		return builtin
	}
	if fn := f.called(call); fn != nil && fn.Pkg() != nil {
		if path := fn.Pkg().Path(); path == "sync" || path == "sync/atomic" {
			return true
		}
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

// syncMethod is the name of the method of package sync that is called, "" for any other call.
func (f *file) syncMethod(call *ast.CallExpr) string {
	fn := f.called(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync" || fn.Signature().Recv() == nil {
		return ""
	}
	return fn.Name()
}
