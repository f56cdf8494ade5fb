package checker

import (
	"fmt"
	"strings"
	"time"
)

// formatTime formats a time of the true clock: "1.203 s".
func formatTime(t int64) string { return fmt.Sprintf("%.3f s", float64(t)/1e9) }

// formatDuration formats a duration: "131 ms" below a second, else "1.203 s".
func formatDuration(d int64) string {
	switch {
	case d >= unlimited:
		return "an unlimited time"
	case d >= 1e9:
		return formatTime(d)
	case d >= 1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(d)/1e6), ".0") + " ms"
	case d >= 50 || d == 0:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(d)/1e3), ".0") + " µs"
	}
	return fmt.Sprintf("%d ns", d)
}

// unlimited exceeds the validity of every lock with a TTL (ten minutes are the most): a lock that keeps extending
// itself is held until its release.
const unlimited = int64(24 * time.Hour)

func untilEnd(t int64) string {
	if t >= unlimited {
		return "without a deadline"
	}
	return "until " + formatTime(t)
}

// joinNames lists names: "a, b and c".
func joinNames(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// VersionName names a version of the register at the store: the value written there, "" for the initial one.
func VersionName(value string) string {
	if value == "" {
		return "the initial version"
	}
	return value
}
