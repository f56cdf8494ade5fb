package suite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// What fails with nothing in its way is told of with the lock's own words; a lost lease after its TTL is no failure.
func TestUncontended(t *testing.T) {
	at := func(op history.Op, end history.Type, why string) history.Event {
		return history.Event{Op: op, Type: end, Error: why}
	}
	renewal := history.Event{Type: history.TypeReply, Command: &history.Command{Effect: history.EffectExtend}}
	beat := history.Event{Type: history.TypeReply, Process: "c1>n1",
		Command: &history.Command{Key: "alive:k1", Effect: history.EffectSet}}
	write := history.Event{Type: history.TypeReply, Process: "c1>store",
		Command: &history.Command{Key: "value:k1", Effect: history.EffectSet}}
	asked, got, gone := at(history.OpAcquire, history.TypeInvoke, ""), at(history.OpAcquire, history.TypeOK, ""),
		at(history.OpRelease, history.TypeOK, "")
	for _, c := range []struct {
		name   string
		events []history.Event
		renews bool
		err    string
	}{
		{"all goes well", []history.Event{got, gone, got, gone}, false, ""},
		{"a renewal that nobody asked for", []history.Event{got, gone, got, renewal, gone}, true, ""},
		{"an extension that was asked for", []history.Event{got, renewal, gone, got, gone}, false, ""},
		{"a heartbeat beside the key", []history.Event{got, gone, got, beat, beat, gone}, true, ""},
		{"what its client writes to the store", []history.Event{got, gone, got, write, write, gone}, false, ""},
		{"a SET that comes after the majority's", []history.Event{got, beat, gone, asked, got, beat, gone}, false, ""},
		{"no acquire", []history.Event{at(history.OpAcquire, history.TypeFail, "boom")}, false, "was not granted, .*: boom"},
		{"no extension", []history.Event{got, at(history.OpExtend, history.TypeInfo, "boom")}, false,
			"was not extended, .*: boom"},
		{"no release", []history.Event{got, at(history.OpRelease, history.TypeInfo, "boom")}, false,
			"was not released, .*: boom"},
		{"too late a release", []history.Event{got, gone, got, at(history.OpRelease, history.TypeFail, "lost")}, false, ""},
		{"nothing at all", nil, false, "was not granted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			renews, err := uncontended(c.events)
			require.Equal(t, c.renews, renews)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.Regexp(t, c.err, err)
		})
	}
}
