package trial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func TestWithCallerKeys(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		on    string // its name on the server
		want  string
	}{
		{"it does not say", nil, "lock:k1", "lock:k1"},
		{"with something around it", []string{"{" + locks.KeyPlaceholder + "}:lock"}, "{k1}:lock", "k1"},
		{"another's key", []string{"lock:" + locks.KeyPlaceholder}, "k1", "k1"},
		{"nothing is left of it", []string{"lock:" + locks.KeyPlaceholder}, "lock:", "lock:"},
		{"a name without the key", []string{"k"}, "k1", "k1"},
		{"a name with the key twice", []string{locks.KeyPlaceholder + ":" + locks.KeyPlaceholder}, "k1:k1", "k1:k1"},
		{"several names", []string{"a:" + locks.KeyPlaceholder, "b:" + locks.KeyPlaceholder}, "a:k1", "a:k1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Plan{Lock: locks.Kind{Abilities: locks.Abilities{Keys: c.names}}}
			var got []history.Event
			record := p.withCallerKeys(func(e history.Event) { got = append(got, e) })
			command := history.Event{Key: c.on, Command: &history.Command{Key: c.on, Others: []string{c.on}}}
			look := history.Event{Node: &history.Node{Up: true, Keys: map[string]history.KeyState{c.on: {Token: "a"}}}}
			record(command)
			record(look)
			record(history.Event{Key: c.on, Op: history.OpAcquire})
			require.Equal(t, []string{c.want, c.want}, []string{got[0].Key, got[0].Command.Key})
			require.Equal(t, []string{c.want}, got[0].Command.Others, "whether it changed the lock's key is judged by its name")
			require.Equal(t, map[string]history.KeyState{c.want: {Token: "a"}}, got[1].Node.Keys)
			require.Equal(t, c.on, got[2].Key, "what a client says is its own")
			require.Equal(t, c.on, command.Command.Key, "the event that came is not changed")
			require.Equal(t, []string{c.on}, command.Command.Others)
			require.Contains(t, look.Node.Keys, c.on)
		})
	}
}
