package wording

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// List joins names: a, b and c.
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Prefix puts an introduction before a quantity, or returns "" if the quantity is unknown.
func Prefix(introduction, quantity string) string {
	if quantity == "" {
		return ""
	}
	return introduction + quantity
}

// Readable rewrites one of Go's durations ("1.000021s") for a reader; other text stays.
func Readable(quantity string) string {
	if d, err := time.ParseDuration(quantity); err == nil {
		return Duration(d)
	}
	return quantity
}

// Duration writes a time with three significant digits and a unit that keeps
// them short, as in 350 µs, 1.02 s or 3 min 20 s.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0 s"
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + " ns"
	case d < time.Millisecond:
		return significantDigits(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return significantDigits(float64(d)/float64(time.Millisecond)) + " ms"
	case d < 100*time.Second:
		return significantDigits(d.Seconds()) + " s"
	}
	d = d.Round(time.Second)
	if h := d / time.Hour; h > 0 {
		return fmt.Sprintf("%d h %d min", h, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}

// significantDigits writes x, from 1 to 1000, with three significant digits and without
// trailing zeros.
func significantDigits(x float64) string {
	if x >= 999.5 {
		return "1000" // and not 1e+03
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// plainWord matches a word that needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w./@%+=:,-]+$`)

// Quote writes a word for a shell: in single quotes, in which a shell expands nothing, unless it needs none.
func Quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Command writes a program with its arguments as a shell's command line.
func Command(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}
