package exercise

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"math"
	"strconv"
	"strings"
)

// maxExpression bounds the length of an expression, in characters.
const maxExpression = 60

// evaluate evaluates an expression of numbers, case-insensitive names, + - * / and brackets. If whole is set, divisions
// round down.
func evaluate(text string, whole bool, names map[string]float64) (float64, error) {
	if len(text) > maxExpression {
		return 0, fmt.Errorf("longer than %d characters", maxExpression)
	}
	tree, err := parser.ParseExpr(text)
	if err != nil {
		var found scanner.ErrorList
		if errors.As(err, &found) {
			err = errors.New(found[0].Msg)
		}
		return 0, fmt.Errorf("not a formula: %w", err)
	}
	x, err := value(tree, whole, names)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = errors.New("division by zero")
	}
	return x, err
}

func value(tree ast.Expr, whole bool, names map[string]float64) (float64, error) {
	switch e := tree.(type) {
	case *ast.ParenExpr:
		return value(e.X, whole, names)
	case *ast.BasicLit:
		if x, err := strconv.ParseFloat(e.Value, 64); err == nil {
			return x, nil
		}
	case *ast.Ident:
		if x, known := names[strings.ToLower(e.Name)]; known {
			return x, nil
		}
		return 0, fmt.Errorf("unknown name %q", e.Name)
	case *ast.BinaryExpr:
		x, err := value(e.X, whole, names)
		if err != nil {
			return 0, err
		}
		y, err := value(e.Y, whole, names)
		if err != nil {
			return 0, err
		}
		switch {
		case e.Op == token.ADD:
			return x + y, nil
		case e.Op == token.SUB:
			return x - y, nil
		case e.Op == token.MUL:
			return x * y, nil
		case e.Op == token.QUO && whole:
			return math.Floor(x / y), nil
		case e.Op == token.QUO:
			return x / y, nil
		}
	}
	return 0, errors.New("want only numbers, names, + - * / and parentheses")
}
