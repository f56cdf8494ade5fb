package checker

import (
	"fmt"
	"strings"
)

// at writes a point of the true clock as sentences do: "1.203 s".
func at(t int64) string { return fmt.Sprintf("%.3f s", float64(t)/1e9) }

// lasting writes a duration: "131 ms" below a second, else "1.203 s".
func lasting(d int64) string {
	switch {
	case d >= 1e9 || d <= -1e9:
		return at(d)
	case d >= 1e6 || d <= -1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(d)/1e6), ".0") + " ms"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(d)/1e3), ".0") + " µs"
}

// VersionName names a version of the register at the store: it is what was
// written there, "" for the initial one.
func VersionName(value string) string {
	if value == "" {
		return "the initial version"
	}
	return value
}
