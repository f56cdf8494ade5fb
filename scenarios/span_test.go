package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseSpan(t *testing.T) {
	ms := time.Millisecond
	for text, want := range map[string]Span{
		"1.2 ttl": {TTLs: 1.2}, "1ttl": {TTLs: 1}, "-1 ttl": {TTLs: -1}, "+2 ttl": {TTLs: 2},
		"50ms": {Fixed: 50 * ms}, "-50ms": {Fixed: -50 * ms}, "1m30s": {Fixed: 90 * time.Second}, "1.5s": {Fixed: 1500 * ms},
		"1 ttl + 50ms": {TTLs: 1, Fixed: 50 * ms}, "2 ttl - 10ms": {TTLs: 2, Fixed: -10 * ms},
		"50ms + 1 ttl": {TTLs: 1, Fixed: 50 * ms}, "-1 ttl - 50ms": {TTLs: -1, Fixed: -50 * ms}, "0": {},
		"  1 ttl ": {TTLs: 1},
	} {
		got, err := ParseSpan(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseSpan_InvalidText_Fails(t *testing.T) {
	for text, why := range map[string]string{
		"":              "is not a duration",
		"soon":          "is not a duration",
		"1 tll":         "is not a duration",
		"50 ms":         "is not a duration",
		"100":           "has no unit",
		"NaN ttl":       "is not a duration",
		"1e3 ttl":       "is not a duration",
		"1 ttl + 1 ttl": "has two parts with the same unit",
		"1 ttl+50ms":    "is not a duration",
		"5000 ttl":      "is too long",
		"48h":           "is too long",
	} {
		_, err := ParseSpan(text)
		require.EqualError(t, err, why, text)
	}
}

func TestSpan_StringRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := Span{
			TTLs:  rapid.Float64Range(-maxSpanTTLs, maxSpanTTLs).Draw(t, "ttls"),
			Fixed: time.Duration(rapid.Int64Range(int64(-maxFixedSpan), int64(maxFixedSpan)).Draw(t, "fixed")),
		}
		if rapid.Bool().Draw(t, "no ttls") {
			span.TTLs = 0
		}
		if rapid.Bool().Draw(t, "nothing fixed") {
			span.Fixed = 0
		}
		back, err := ParseSpan(span.String())
		require.NoError(t, err, span.String())
		require.Equal(t, span, back)
	})
}
