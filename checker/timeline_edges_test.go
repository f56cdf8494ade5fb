package checker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// What ended a key came while it was there, to the moment; and it expired if it was gone no earlier than its node's clock
// may be off.
func TestWhatEndedAKeyCameInItsTime(t *testing.T) {
	unanswered := func(at int64) func(*story) {
		return func(s *story) {
			if at < 10 { // before the SET is answered
				defer s.sets(10, "c1", "t1", 1000, "n1")
			} else {
				s.sets(10, "c1", "t1", 1000, "n1")
			}
			s.add(at, history.Event{Process: "c1>n1", Type: history.TypeCommand,
				Command: &history.Command{Serial: 900, Name: "EVAL", Key: "k1", Token: "t1", Effect: history.EffectDelete}})
			s.look(500, "n1", "r1", "", 0)
		}
	}
	next := func(at int64) func(*story) {
		return func(s *story) { s.sets(10, "c1", "t1", 1000, "n1"); s.sets(at, "c2", "t2", 1000, "n1") }
	}
	filled := func(at int64) func(*story) {
		return func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.lasting(at, 900, "fill", "n1")
			s.look(500, "n1", "r1", "", 0)
		}
	}
	master := func(down int64) func(*story) {
		return func(s *story) {
			s.header.Nodes, s.header.Replicas = []string{"n2"}, map[string]string{"n1": "n2"}
			s.look(10, "n1", "r1", "t1", 1000)
			s.instant(down, "kill", "n2")
			s.look(500, "n1", "r1", "", 0)
		}
	}
	for _, test := range []struct {
		name  string
		tell  func(*story)
		ended string
	}{
		{"taken by another 2 ms before its end", next(1008), TenureExpired},
		{"3 ms before its end", next(1007), TenureVanished},
		{"memory filled as it was set", filled(10), TenureEvicted},
		{"memory filled before", filled(9), TenureVanished},
		{"its master went down as it was seen", master(10), TenureResynced},
		{"its master went down before", master(9), TenureVanished},
		{"a delete as it was set", unanswered(10), TenureDeleted},
		{"a delete before", unanswered(9), TenureVanished},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			s.attempt("c1", 0, 20, history.TypeFail)
			test.tell(s)
			tenures := slices.Collect(s.history(t, 2000).Tenures())
			require.NotEmpty(t, tenures)
			require.Equal(t, test.ended, tenures[0].Ended)
		})
	}
}

func TestDurationsAreShort(t *testing.T) {
	for d, text := range map[int64]string{
		0: "0 µs", 1: "0 µs", 1500: "1.5 µs", -999_000: "-999 µs", 999_000: "999 µs", ms: "1 ms", -ms: "-1 ms", 131 * ms: "131 ms",
		1_500_000: "1.5 ms", -1_500_000: "-1.5 ms", 1000 * ms: "1.000 s", -1000 * ms: "-1.000 s", 1203 * ms: "1.203 s",
		-2000 * ms: "-2.000 s",
	} {
		require.Equal(t, text, formatDuration(d))
	}
}
