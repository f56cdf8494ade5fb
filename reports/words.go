package reports

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"lockproof/harness/cluster"
)

// Duration writes a time for a reader: three significant digits and a unit
// that keeps them short, as in 350 µs, 1.02 s or 3 min 20 s.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0 s"
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + " ns"
	case d < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	case d < 100*time.Second:
		return digits(d.Seconds()) + " s"
	}
	d = d.Round(time.Second)
	if h := d / time.Hour; h > 0 {
		return fmt.Sprintf("%d h %d min", h, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}

// digits writes x, from 1 to 1000, with three significant digits and without
// trailing zeros.
func digits(x float64) string {
	places := 0
	switch {
	case x < 10:
		places = 2
	case x < 100:
		places = 1
	}
	s := strconv.FormatFloat(x, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Moment writes a point of a history's clock to the microsecond.
func Moment(ns int64) string {
	if ns < int64(time.Second) {
		return strconv.FormatFloat(float64(ns)/float64(time.Millisecond), 'f', 3, 64) + " ms"
	}
	return strconv.FormatFloat(float64(ns)/float64(time.Second), 'f', 6, 64) + " s"
}

// at writes a point of a history's clock.
func at(ns int64) string {
	return Duration(time.Duration(ns))
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// list joins names as a sentence does: a, b and c.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// quantities writes named quantities in the order of their names. That a fault
// works in both directions goes without saying.
func quantities(q map[string]string) string {
	names := make([]string, 0, len(q))
	for name, value := range q {
		if name != "direction" || value != string(cluster.Both) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = name + " " + q[name]
	}
	return strings.Join(parts, ", ")
}
