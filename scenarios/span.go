package scenarios

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest bounds both parts of a span: nothing in a scenario takes longer than
// a day, or a thousand TTLs.
const (
	maxFixedSpan = 24 * time.Hour
	maxSpanTTLs  = 1000
)

// spanTerms splits a span into one term, or two terms and the sign between
// them: "1.2 ttl", "-50ms", "1 ttl + 50ms".
var spanTerms = regexp.MustCompile(`^([+-]?[^\s+-]+(?: ?ttl)?)(?:\s+([+-])\s+([^\s+-]+(?: ?ttl)?))?$`)

var errTooLong = errors.New("is too long")

var ttlTerm = regexp.MustCompile(`^([+-]?[0-9]+(?:\.[0-9]+)?) ?ttl$`)

// ParseSpan reads a span as scenario files write it: in TTLs ("1.2 ttl"), in
// units of time as time.ParseDuration takes them ("50ms"), or as the sum or
// difference of both ("1 ttl + 50ms", "2 ttl - 10ms"). The error says what is
// wrong, without the text itself.
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

// parseTerm reads one side of a span.
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
