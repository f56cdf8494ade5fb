package reports

import (
	"strconv"
	"time"

	"example.org/lockproof/internal/wording"
)

// Duration formats a time with three significant digits and a short unit, as in 350 µs, 1.02 s or 3 min 20 s.
func Duration(d time.Duration) string { return wording.Duration(d) }

// Moment formats a point of a history's clock to the microsecond.
func Moment(ns int64) string {
	if ns < int64(time.Second) {
		return strconv.FormatFloat(float64(ns)/float64(time.Millisecond), 'f', 3, 64) + " ms"
	}
	return strconv.FormatFloat(float64(ns)/float64(time.Second), 'f', 6, 64) + " s"
}

// timeText formats a time of a history for a reader.
func timeText(ns int64) string {
	return Duration(time.Duration(ns))
}

// Plural formats a count with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// list joins names as in a sentence: a, b and c.
func list(names []string) string { return wording.List(names) }
