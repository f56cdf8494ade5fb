package scenarios

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The bounds of both parts of a span.
const (
	maxFixedSpan = 24 * time.Hour
	maxSpanTTLs  = 1000
)

// spanTerms matches one term, or two terms with a sign between them: "1.2 ttl", "-50ms", "1 ttl + 50ms".
var spanTerms = regexp.MustCompile(`^([+-]?[^\s+-]+(?: ?ttl)?)(?:\s+([+-])\s+([^\s+-]+(?: ?ttl)?))?$`)

var errTooLong = errors.New("is too long")

var ttlTerm = regexp.MustCompile(`^([+-]?[0-9]+(?:\.[0-9]+)?) ?ttl$`)

// ParseSpan parses a span of a scenario file: in TTLs ("1.2 ttl"), in units of time as in time.ParseDuration ("50ms"),
// or the sum or difference of both ("1 ttl + 50ms", "2 ttl - 10ms"). The error does not repeat the text.
func ParseSpan(text string) (Span, error) {
	terms := spanTerms.FindStringSubmatch(strings.TrimSpace(text))
	if terms == nil {
		return Span{}, errors.New("is not a duration")
	}
	span, err := parseTerm(terms[1])
	if err != nil || terms[3] == "" {
		return span, err
	}
	second, err := parseTerm(terms[3])
	if err != nil {
		return Span{}, err
	}
	if (span.TTLs != 0) == (second.TTLs != 0) || (span.Fixed != 0) == (second.Fixed != 0) {
		return Span{}, errors.New("has two parts with the same unit")
	}
	if terms[2] == "-" {
		second = Span{TTLs: -second.TTLs, Fixed: -second.Fixed}
	}
	return Span{TTLs: span.TTLs + second.TTLs, Fixed: span.Fixed + second.Fixed}, nil
}

func parseTerm(term string) (Span, error) {
	if m := ttlTerm.FindStringSubmatch(term); m != nil {
		ttls, err := strconv.ParseFloat(m[1], 64)
		if err != nil || ttls > maxSpanTTLs || ttls < -maxSpanTTLs {
			return Span{}, errTooLong
		}
		return Span{TTLs: ttls}, nil
	}
	if _, err := strconv.ParseFloat(term, 64); err == nil && term != "0" {
		return Span{}, errors.New("has no unit")
	}
	fixed, err := time.ParseDuration(term)
	if err != nil {
		return Span{}, errors.New("is not a duration")
	}
	if fixed > maxFixedSpan || fixed < -maxFixedSpan {
		return Span{}, errTooLong
	}
	return Span{Fixed: fixed}, nil
}
