package exercise

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// expression is a short one that a learner has typed: numbers, names, + - * / and brackets.
type expression struct {
	names map[string]float64
	whole bool // a division drops what is left over
	rest  string
}

// longest is how many characters an expression may have.
const longest = 60

// evaluate gives the value of an expression where names have these values. Names are known
// whatever case they are in.
func evaluate(text string, whole bool, names map[string]float64) (float64, error) {
	if len(text) > longest {
		return 0, fmt.Errorf("it is longer than %d characters", longest)
	}
	e := &expression{names, whole, strings.ToLower(text)}
	x, err := e.sum()
	if err == nil && e.peek() != 0 {
		err = fmt.Errorf("%q is not understood", strings.TrimSpace(e.rest))
	}
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = fmt.Errorf("it divides by zero")
	}
	return x, err
}

// peek gives the next character that is no blank, 0 at the end.
func (e *expression) peek() byte {
	e.rest = strings.TrimLeft(e.rest, " ")
	if e.rest == "" {
		return 0
	}
	return e.rest[0]
}

func (e *expression) sum() (float64, error) {
	x, err := e.product()
	for err == nil && (e.peek() == '+' || e.peek() == '-') {
		sign := 1.0
		if e.rest[0] == '-' {
			sign = -1
		}
		e.rest = e.rest[1:]
		var y float64
		y, err = e.product()
		x += sign * y
	}
	return x, err
}

func (e *expression) product() (float64, error) {
	x, err := e.factor()
	for err == nil && (e.peek() == '*' || e.peek() == '/') {
		divide := e.rest[0] == '/'
		e.rest = e.rest[1:]
		var y float64
		y, err = e.factor()
		switch {
		case !divide:
			x *= y
		case e.whole:
			x = math.Floor(x / y)
		default:
			x /= y
		}
	}
	return x, err
}

func (e *expression) factor() (float64, error) {
	c := e.peek()
	switch {
	case c == '(':
		e.rest = e.rest[1:]
		x, err := e.sum()
		if err == nil && e.peek() != ')' {
			err = fmt.Errorf("a bracket is not closed")
		}
		if err == nil {
			e.rest = e.rest[1:]
		}
		return x, err
	case c == 0:
		return 0, fmt.Errorf("something is missing at the end")
	}
	end := strings.IndexFunc(e.rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })
	if end < 0 {
		end = len(e.rest)
	}
	word := e.rest[:end]
	e.rest = e.rest[end:]
	if x, known := e.names[word]; known {
		return x, nil
	}
	x, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a number nor one of the names", word+e.rest)
	}
	return x, nil
}
