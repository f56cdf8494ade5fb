package checker

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/golden"
)

// The verdicts and figures of invented runs do not change. Their times are so coarse that many events share a moment.
// The golden has the first runs' verdicts in plain text, and a checksum for each hundred of the others.
func TestInventedRuns_VerdictsMatchGolden(t *testing.T) {
	const told, all = 200, 2000
	var got bytes.Buffer
	judged := map[string]int{}
	sum := fnv.New64a()
	for seed := range uint64(all) {
		run := invent(seed)
		events := run.end(0)
		h, err := Read(InMemory(events))
		require.NoError(t, err, "run %d", seed)
		verdict, err := h.Verdict()
		require.NoError(t, err, "run %d", seed)
		for _, r := range verdict.Results {
			judged[r.Property+r.Verdict]++
		}
		if seed < told {
			fmt.Fprintf(&got, "run %d%s\n", seed, summary(verdict))
			continue
		}
		writeFigures(sum, h, verdict)
		if seed%100 == 99 {
			fmt.Fprintf(&got, "runs to %d: %x\n", seed, sum.Sum64())
		}
	}
	golden.Require(t, "testdata/invented.txt", got.String())
	for _, property := range Properties() {
		for _, verdict := range []string{history.Violated, history.Holds, history.Inconclusive} {
			require.Greater(t, judged[property.Name+verdict], all/50, "%s: %v", property.Name, judged)
		}
	}
}

// summary is a verdict in one line.
func summary(v Verdict) string {
	var b strings.Builder
	for _, r := range v.Results {
		fmt.Fprintf(&b, "; %s %.1s%s", r.Property, r.Verdict, r.Cause)
		for _, name := range slices.Sorted(maps.Keys(r.Measured)) {
			n := r.Measured[name]
			if n%ms == 0 {
				n /= ms
			}
			fmt.Fprintf(&b, " %d", n)
		}
		for _, violation := range r.Violations {
			fmt.Fprintf(&b, ", %s %d-%d", strings.Join(violation.Processes, "+"), violation.From/ms, violation.Until/ms)
		}
	}
	fmt.Fprintf(&b, "; traffic %d", v.Traffic.Count)
	return b.String()
}

// writeFigures writes the whole verdict without words: of sentences, only the figures.
func writeFigures(w io.Writer, h *History, v Verdict) {
	fmt.Fprintln(w, h.Leases(), h.Ownerships(), h.LostUpdates("k1"))
	gap := h.record.operations.longestGap()
	fmt.Fprintln(w, gap.from, gap.until)
	for _, r := range v.Results {
		fmt.Fprintln(w, r.Property, r.Verdict, r.Cause, r.Measured)
		for _, violation := range r.Violations {
			fmt.Fprintln(w, violation.Processes, violation.From, violation.Until, violation.Leases, figuresOf(violation.What))
		}
	}
}

// figuresOf are the digits of a sentence.
func figuresOf(sentence string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, sentence)
}
