package reports

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

func TestStepText(t *testing.T) {
	ttls := func(x float64) scenarios.Span { return scenarios.Span{TTLs: x} }
	tests := []struct {
		step scenarios.Step
		want string
	}{
		{scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Reaching: []string{"n1", "n2", "n3"},
			Must: "ok"},
			"c1 acquires, from here on reaching only n1, n2 and n3; it must succeed"},
		{scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c2"}, Key: "k2", Async: true, Within: ttls(2)},
			"c2 acquires k2, within 2 ttl, in the background"},
		{scenarios.Step{Verb: scenarios.VerbWrite, Targets: []string{"c1"}, Key: "k2", Must: "fail"},
			"c1 writes the register of k2; it must fail"},
		{scenarios.Step{Verb: scenarios.VerbWait, Wait: scenarios.Span{TTLs: 1.2, Fixed: 50 * time.Millisecond}},
			"wait 1.2 ttl + 50ms"},
		{scenarios.Step{Verb: scenarios.VerbUntil, Targets: []string{"c1-n3"}, Of: "SET", Has: "answered"},
			"wait until n3 has answered c1's SET"},
		{scenarios.Step{Verb: scenarios.VerbUntil, Targets: []string{"c1-n1", "c1-n2", "c2-n3"}, Of: "SET", Has: "answered"},
			"wait until n1 and n2 have answered c1's SET and n3 has answered c2's SET"},
		{scenarios.Step{Verb: scenarios.VerbRelease, Targets: []string{"c1"}, Thread: "b", IfHeld: true},
			"c1 (thread b) releases the lock, if it holds the lock"},
		{scenarios.Step{Verb: nemesis.Kill, Targets: []string{"n3"}, After: ttls(0.5)},
			"kill n3 (SIGKILL), and start again after 0.5 ttl"},
		{scenarios.Step{Verb: nemesis.Pause, Targets: []string{"c1", "n2"}, For: ttls(1.5)},
			"pause c1 and n2 (SIGSTOP) for 1.5 ttl"},
		{scenarios.Step{Verb: nemesis.Delay, Targets: []string{"c1-n1"}, By: ttls(0.1)}, "delay c1-n1 by 0.1 ttl one way"},
		{scenarios.Step{Verb: nemesis.Clock, Targets: []string{"c1"}, Jump: ttls(-1), Rate: 0.8},
			"let the clock of c1 jump back by 1 ttl and run at 0.8 times the true rate"},
		{scenarios.Step{Verb: nemesis.Hold, Targets: []string{"c1-n3"}, Of: "SET", Part: history.PartReply, Times: 2},
			"hold the reply to the next 2 SET on c1-n3"},
		{scenarios.Step{Verb: nemesis.Drop, Targets: []string{"c1-n3"}, Of: "EVAL", Part: history.PartCommand},
			"drop the next EVAL on c1-n3 and close the connection"},
		{scenarios.Step{Verb: scenarios.VerbAwait, Targets: []string{"c1"}, Must: "ok"},
			"wait for the outcome of c1; it must succeed"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, StepText(tt.step))
	}
}

// Every verb that a script may use is put in words: none is shown as it stands
// in the file.
func TestEveryVerbHasWords(t *testing.T) {
	for _, usage := range scenarios.Usages() {
		step := scenarios.Step{Verb: usage.Verb, Targets: []string{"x"}, Of: "SET", Jump: scenarios.Span{TTLs: 1}}
		require.NotEqual(t, string(usage.Verb)+": x", action(step), "give %s words in this package", usage.Verb)
	}
}

func TestRandomText(t *testing.T) {
	require.Equal(t, "every 1 ttl to 2 ttl: pause 1 of n1, n2 and n3 (SIGSTOP) for 0.5 ttl", RandomText(scenarios.Random{
		Fault: nemesis.Pause, Candidates: []string{"n1", "n2", "n3"}, Count: 1,
		Every: scenarios.Range{Min: scenarios.Span{TTLs: 1}, Max: scenarios.Span{TTLs: 2}},
		For:   scenarios.Range{Min: scenarios.Span{TTLs: 0.5}, Max: scenarios.Span{TTLs: 0.5}},
	}))
}
