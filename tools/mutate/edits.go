package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// edit is one change of an operator.
type edit struct {
	id       int // from 1
	position token.Position
	from, to string // the expression before and after
}

// String is the edit's position and effect.
func (e edit) String() string {
	return fmt.Sprintf("%s:%d:%d: %s becomes %s", filepath.Base(e.position.Filename), e.position.Line, e.position.Column,
		e.from, e.to)
}

// name is the edit's effect and file, without its line, so that a page that lists it stays valid.
func (e edit) name() string {
	return fmt.Sprintf("%s: %s becomes %s", filepath.Base(e.position.Filename), e.from, e.to)
}

// boundary and negation are the changes of comparisons.
var (
	boundary = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ,
		token.GEQ: token.GTR}
	negation = map[token.Token]token.Token{token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ,
		token.GEQ: token.LSS, token.EQL: token.NEQ, token.NEQ: token.EQL}
)

// arithmetic has the change of each operator, and the helper that computes either.
var arithmetic = map[token.Token]struct {
	to     token.Token
	helper string
}{
	token.ADD: {token.SUB, "mutateAdd"}, token.SUB: {token.ADD, "mutateSub"},
	token.MUL: {token.QUO, "mutateMul"}, token.QUO: {token.MUL, "mutateQuo"}, token.REM: {token.MUL, "mutateRem"},
}

// helpers is the file added to an instrumented package.
const helpers = `package %s

import (
	mutateos "os"
	mutateconv "strconv"
	mutateatomic "sync/atomic"
)

var (
	mutateChosen, _ = mutateconv.Atoi(mutateos.Getenv("MUTATE_EDIT"))
	mutateTrace     = mutateos.Getenv("MUTATE_TRACE")
	mutateReached   [%d]mutateatomic.Bool
)

func mutate(id int) bool {
	if mutateTrace != "" {
		if !mutateReached[id].Load() && mutateReached[id].CompareAndSwap(false, true) {
			const how = mutateos.O_APPEND | mutateos.O_CREATE | mutateos.O_WRONLY
			if f, err := mutateos.OpenFile(mutateTrace, how, 0o600); err == nil {
				f.WriteString(mutateconv.Itoa(id) + "\n")
				f.Close()
			}
		}
	}
	return mutateChosen == id
}

type mutateInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutateNumber interface {
	mutateInteger | ~float32 | ~float64
}

func mutateAdd[T mutateNumber](id int, x, y T) T { if mutate(id) { return x - y }; return x + y }
func mutateSub[T mutateNumber](id int, x, y T) T { if mutate(id) { return x + y }; return x - y }
func mutateMul[T mutateNumber](id int, x, y T) T { if mutate(id) { return x / y }; return x * y }
func mutateQuo[T mutateNumber](id int, x, y T) T { if mutate(id) { return x * y }; return x / y }
func mutateRem[T mutateInteger](id int, x, y T) T { if mutate(id) { return x * y }; return x %% y }
func mutateNeg[T mutateNumber](id int, x T) T { if mutate(id) { return x }; return -x }
func mutateInc[T mutateNumber](id int, x *T) { if mutate(id) { *x--; return }; *x++ }
func mutateDec[T mutateNumber](id int, x *T) { if mutate(id) { *x++; return }; *x-- }
`

// rewriter puts the edits into the text of one file.
type rewriter struct {
	files  *token.FileSet
	info   *types.Info
	source []byte
	next   func(at token.Pos, from, to string) int
}

// raw is the text between two positions of the file.
func (r *rewriter) raw(from, to token.Pos) string {
	return string(r.source[r.files.Position(from).Offset:r.files.Position(to).Offset])
}

func (r *rewriter) plain(n ast.Node) string { return r.raw(n.Pos(), n.End()) }

// text is a node's text with the edits inside it.
func (r *rewriter) text(n ast.Node) string { return r.within(n, n.Pos(), n.End()) }

// within is the text between two positions around a node, with the edits of the node and its children.
func (r *rewriter) within(n ast.Node, from, to token.Pos) string {
	type piece struct {
		from, to token.Pos
		text     string
	}
	var pieces []piece
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if text, edited := r.edited(n); edited {
			pieces = append(pieces, piece{n.Pos(), n.End(), text})
			return false
		}
		return true
	})
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(r.raw(from, p.from) + p.text)
		from = p.to
	}
	return b.String() + r.raw(from, to)
}

// edited returns the text of a node with an edit of its own.
func (r *rewriter) edited(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return r.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.SUB && r.number(n) {
			id := r.next(n.OpPos, r.plain(n), "+"+r.plain(n.X))
			return fmt.Sprintf("mutateNeg(%d, %s)", id, r.text(n.X)), true
		}
	case *ast.IncDecStmt:
		return r.step(n), true
	}
	return "", false
}

func (r *rewriter) binary(n *ast.BinaryExpr) (string, bool) {
	if b, known := negation[n.Op]; known && r.boolean(n) {
		operators := []token.Token{b}
		if b, known := boundary[n.Op]; known {
			operators = append(operators, b)
		}
		var all, none strings.Builder
		for _, to := range operators {
			changed := r.plain(n.X) + " " + to.String() + " " + r.plain(n.Y)
			id := r.next(n.OpPos, r.plain(n), changed)
			fmt.Fprintf(&all, "mutate(%d) && (%s) || ", id, changed)
			fmt.Fprintf(&none, "!mutate(%d) && ", id)
		}
		return fmt.Sprintf("(%s%s(%s %s %s))", &all, &none, r.text(n.X), n.Op, r.text(n.Y)), true
	}
	if a, known := arithmetic[n.Op]; known && r.number(n) {
		id := r.next(n.OpPos, r.plain(n), r.plain(n.X)+" "+a.to.String()+" "+r.plain(n.Y))
		return fmt.Sprintf("%s(%d, %s, %s)", a.helper, id, r.text(n.X), r.text(n.Y)), true
	}
	return "", false
}

// step is the text of i++ or i--: one simple statement, as it may stand before a condition. Map elements have no
// address.
func (r *rewriter) step(n *ast.IncDecStmt) string {
	sum, helper := arithmetic[token.ADD], "mutateInc"
	to := "--"
	if n.Tok == token.DEC {
		sum, helper, to = arithmetic[token.SUB], "mutateDec", "++"
	}
	id := r.next(n.TokPos, r.plain(n), r.plain(n.X)+to)
	if index, is := n.X.(*ast.IndexExpr); is {
		if _, is := r.info.TypeOf(index.X).Underlying().(*types.Map); is {
			return fmt.Sprintf("%s = %s(%d, %s, 1)", r.plain(n.X), sum.helper, id, r.plain(n.X))
		}
	}
	return fmt.Sprintf("%s(%d, &%s)", helper, id, r.text(n.X))
}

// boolean reports whether a comparison has type bool and is not constant.
func (r *rewriter) boolean(n ast.Expr) bool {
	t := r.info.Types[n]
	return t.Value == nil && slices.Contains([]types.Type{types.Typ[types.Bool], types.Typ[types.UntypedBool]}, t.Type)
}

// number reports whether an expression is a number and not constant.
func (r *rewriter) number(n ast.Expr) bool {
	t := r.info.Types[n]
	basic, is := t.Type.Underlying().(*types.Basic)
	return t.Value == nil && is && basic.Info()&types.IsNumeric != 0 && basic.Info()&types.IsComplex == 0
}
