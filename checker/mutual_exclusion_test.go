package checker

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
)

func TestMutualExclusion(t *testing.T) {
	requireVerdicts(t, MutualExclusion, []storyCase{
		{"touching is not overlapping", func(s *story) {
			s.grant("c1", 0, 10, 100)
			s.grant("c2", 20, 110, 100)
		}, history.Holds, ""},
		{"one client that holds it twice", func(s *story) {
			s.grant("c1", 0, 10, 100)
			s.grant("c1", 20, 30, 100)
		}, history.Violated, ""},
		{"nobody got it", func(s *story) { s.attempt("c1", 0, 10, history.TypeFail) }, history.Inconclusive,
			"vacuous: no acquire succeeded"},
		{"nobody got it, and that was the point", func(s *story) {
			s.header.Earned.Refused = 1
			s.attempt("c1", 0, 10, history.TypeFail)
		}, history.Holds, ""},
	})
}

func TestOverlap_Description(t *testing.T) {
	s := newStory()
	s.grant("c1", 0, 10, 900)
	s.grant("c2", 500, 600, 900)
	s.grant("c3", 500, 700, 900)
	r := s.judged(t, MutualExclusion)
	require.Len(t, r.Violations, 2)
	v := r.Violations[0]
	require.Equal(t, `c2 was granted "k1" at 0.600 s while c1 still held it, until 0.910 s: both held it for 310 ms`,
		v.What)
	require.Equal(t, span{600 * ms, 910 * ms}, span{v.From, v.Until})
	require.Equal(t, []string{"c1", "c2"}, v.Processes)
	require.Len(t, v.Leases, 2)
	require.EqualValues(t, 2, r.Measured["violations"])
}

// c1's key expires, c2 is granted the lock, and c1's extension, without a check of the owner, extends c2's key.
func TestOverlap_ByAnExtension_NamesTheExtendedKey(t *testing.T) {
	s := newStory()
	lease := s.holder(100, 90)
	s.sets(205, "c2", "c2.1", 100, majority...)
	s.grant("c2", 200, 210, 90)
	s.commands(220, "c1", "PEXPIRE", "", 100, history.EffectExtend, majority)
	s.extend("c1", lease, 50, 230, 90)
	r := s.judged(t, MutualExclusion)
	require.Len(t, r.Violations, 1)
	require.Contains(t, r.Violations[0].What, `c1 extended its lease on "k1" at 0.230 s while c2 still held it`)
	require.Contains(t, fmt.Sprint(r.Violations[0].Facts), "a command of c1 extended c2's key on n1, n2 and n3")
}

// The facts rest on the tokens of the keys that a client set, even if its lock does not show them.
func TestOverlap_LockShowsNoTokens_NamesTheLostKeys(t *testing.T) {
	s := newStory()
	s.holder(100, 900)
	s.sets(205, "c2", "c2.1", 1000, majority...)
	s.grant("c2", 200, 210, 900)
	for i := range s.events {
		s.events[i].Token = ""
	}
	r := s.judged(t, MutualExclusion)
	require.Len(t, r.Violations, 1)
	require.Contains(t, fmt.Sprint(r.Violations[0].Facts), "c1's key expired on n1, n2 and n3")
	require.Equal(t, "c1.1", r.Violations[0].Leases[0].Token)
}

// secondOracles give the same answer for all leases, and for all accesses.
func secondOracles(mutex, register porcupine.CheckResult) oracles {
	return oracles{func([]lease) porcupine.CheckResult { return mutex },
		func([]access) porcupine.CheckResult { return register }}
}

func TestSecondOracle_DoesNotAgree(t *testing.T) {
	s := newStory()
	s.grant("c1", 0, 10, 900)
	s.write("c1", 1, 20, 30, history.TypeOK, "", "v1", 0)
	r := s.history(t, 0).record
	r.second = secondOracles(porcupine.Unknown, porcupine.Unknown)
	v, err := r.verdict()
	require.NoError(t, err)
	for _, property := range []string{MutualExclusion, ProtectedData} {
		require.Equal(t, history.Inconclusive, v.Of(property).Verdict)
		require.Contains(t, v.Of(property).Reason, "unknown: porcupine")
	}
	for property, broken := range map[string]oracles{
		MutualExclusion: secondOracles(porcupine.Illegal, porcupine.Ok),
		ProtectedData:   secondOracles(porcupine.Ok, porcupine.Illegal),
	} {
		r.second = broken
		_, err := r.verdict()
		var disagreement *OracleDisagreement
		require.ErrorAs(t, err, &disagreement)
		require.Equal(t, property, disagreement.Property)
		require.ErrorContains(t, err, "bug of the checker")
	}
}

// randomLeases draws leases of a few clients; those of one acquire do not overlap, as appendLeases makes them.
func randomLeases(t *rapid.T) []lease {
	var leases []lease
	crowded := rapid.Int64Range(1, 2000).Draw(t, "crowded")
	for i := range rapid.IntRange(0, 60).Draw(t, "leases") {
		from := rapid.Int64Range(0, crowded).Draw(t, "from")
		length := rapid.Int64Range(0, 20).Draw(t, "length")
		leases = append(leases, lease{client: fmt.Sprint("c", i%3), grant: &operation{id: i},
			span: span{from, from + length}})
	}
	return leases
}

// The sweep, porcupine and a comparison of all pairs agree on whether any leases overlap.
func TestMutexOracles_AgreeWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leases := randomLeases(t)
		slices.SortFunc(leases, func(a, b lease) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.until, b.until), cmp.Compare(a.client, b.client),
				cmp.Compare(a.grant.id, b.grant.id))
		})
		second := map[lease]bool{} // leases that overlap one that began no later
		for i, a := range leases {
			for _, b := range leases[i+1:] {
				if max(a.from, b.from) < min(a.until, b.until) {
					second[b] = true
				}
			}
		}
		overlaps := sweep(leases)
		require.Len(t, overlaps, len(second), "each of them, and each once")
		require.Equal(t, len(second) > 0, ownedMutexOracle(leases) == porcupine.Illegal)
		for _, o := range overlaps {
			require.Less(t, o.second.from, min(o.first.until, o.second.until), "%v", o)
			require.LessOrEqual(t, o.first.from, o.second.from)
		}
	})
}

// Leases that only touch stay legal, however many pieces they make.
func TestMutexOracle_SplitHistoryEqualsWhole(t *testing.T) {
	leases := handovers(1000)
	require.Equal(t, porcupine.CheckResult(porcupine.Ok), ownedMutexOracle(leases))
	leases[777].until++ // into the next one
	require.Equal(t, porcupine.CheckResult(porcupine.Illegal), ownedMutexOracle(leases))
	require.Len(t, sweep(leases), 1)
}

// handovers are n leases, each of which begins when the last ends.
func handovers(n int) []lease {
	leases := make([]lease, n)
	for i := range leases {
		from := int64(i) * 10
		leases[i] = lease{client: fmt.Sprint("c", i%5), grant: &operation{id: i}, span: span{from, from + 10}}
	}
	return leases
}

// A lease that only its release ends has no deadline to report, and its overlap with another such lease no length.
func TestOverlap_LeaseWithoutAnEnd_IsDescribedSo(t *testing.T) {
	s := newStory()
	s.grant("c1", 0, 10, 1000*int64(time.Hour/time.Millisecond))
	s.grant("c2", 20, 30, 900)
	require.Contains(t, s.judged(t, MutualExclusion).Violations[0].What,
		"while c1 still held it, without a deadline: both "+
			"held it for ")
	require.Equal(t, "until 0.900 s", untilEnd(900*ms))
}

func TestFormatDuration(t *testing.T) {
	for d, text := range map[int64]string{
		0: "0 µs", 1: "1 ns", 50: "0.1 µs", 1500: "1.5 µs", 999_000: "999 µs", ms: "1 ms", 131 * ms: "131 ms",
		1_500_000: "1.5 ms", 1000 * ms: "1.000 s", 1203 * ms: "1.203 s",
		int64(24*time.Hour - time.Second): "86399.000 s", int64(24 * time.Hour): "an unlimited time",
	} {
		require.Equal(t, text, formatDuration(d))
	}
}
