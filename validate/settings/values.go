package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

func (d Directive) problem(what, right string) error {
	return &Problem{Place: d.Place, What: what, Right: right}
}

func (d Directive) one() (string, error) {
	if len(d.Args) != 1 {
		return "", d.problem(fmt.Sprintf("%s takes one value, and has %d", d.Name, len(d.Args)), "give one")
	}
	return d.Args[0], nil
}

func (d Directive) yesNo(into *bool) error {
	word := yesNo(*into)
	err := d.word(&word, []string{"yes", "no"})
	*into = word == "yes"
	return err
}

// word parses one of some words, in upper or lower case.
func (d Directive) word(into *string, words []string) error {
	value, err := d.one()
	switch lower := strings.ToLower(value); {
	case err == nil && slices.Contains(words, lower):
		*into = lower
	case err == nil:
		err = d.problem(fmt.Sprintf("%s %s: there is no such value", d.Name, value), "there are "+strings.Join(words, ", "))
	}
	return err
}

func (d Directive) number(into *int) error {
	value, err := d.one()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return d.problem(fmt.Sprintf("%s %s: this is not a number", d.Name, value), "give a whole number, 0 or more")
	}
	*into = n
	return nil
}

// units are those of Redis's memory values (memtoull in util.c).
var units = map[string]float64{"": 1, "b": 1, "k": 1e3, "kb": 1 << 10, "m": 1e6, "mb": 1 << 20, "g": 1e9, "gb": 1 << 30}

func (d Directive) memory(into *int64) error {
	value, err := d.one()
	if err != nil {
		return err
	}
	digits := strings.TrimRight(strings.ToLower(value), "bkmg")
	unit, known := units[strings.ToLower(value)[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !known || float64(n)*unit > math.MaxInt64/2 {
		return d.problem(fmt.Sprintf("%s %s: this is not an amount of memory", d.Name, value), "write it as in 100mb or 2gb")
	}
	*into = int64(float64(n) * unit)
	return nil
}
