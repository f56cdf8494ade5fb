package nemesis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// What a step asks for is said in words that fit how often, how far and which way.
func TestInstructionText(t *testing.T) {
	for text, o := range map[string]struct {
		kind  Kind
		order Instruction
	}{
		"let the clock of n1 jump forward by 1 s":            {Clock, Instruction{Targets: "n1", Jump: "1 s"}},
		"let the clock of n1 jump back by 1 s":               {Clock, Instruction{Targets: "n1", Jump: "1 s", Backward: true}},
		"let the clock of n1 run at 0.8 times the true rate": {Clock, Instruction{Targets: "n1", Rate: 0.8}},
		"take the delay off c1-n1":                           {Delay, Instruction{Targets: "c1-n1"}},
		"delay c1-n1 by 5 ms one way, towards the node only": {Delay, Instruction{Targets: "c1-n1", Delay: "5 ms", Direction: cluster.ToNode}},
		"lose the reply to the next SET on c1-n1":            {Lose, Instruction{Targets: "c1-n1", Command: "SET", Count: 1, Part: cluster.PartReply}},
		"let the clock of n1 jump back by 1 s and run at 2 times the true rate": {Clock,
			Instruction{Targets: "n1", Jump: "1 s", Backward: true, Rate: 2}},
	} {
		said, known := InstructionText(string(o.kind), o.order)
		require.True(t, known)
		require.Equal(t, text, said)
	}
}

// What happened is said of one target or of several.
func TestBeginAndEndText(t *testing.T) {
	both, one := []string{"n1", "n2"}, []string{"n1"}
	link, links := []string{"c1-n1"}, []string{"c1-n1", "c1-n2"}
	jump := func(by string) map[string]string { return map[string]string{"jump": by} }
	rate := func(is string) map[string]string { return map[string]string{"rate": is} }
	for text, f := range map[string]history.Fault{
		"the clock of n1 jumps back by 1 s":           {Kind: string(Clock), Targets: one, Requested: jump("-1s")},
		"the clocks of n1 and n2 jump forward by 1 s": {Kind: string(Clock), Targets: both, Requested: jump("1s")},
		"the clock of n1 jumps forward by 2 s": {Kind: string(Clock), Targets: one, Requested: jump("1s"),
			Measured: map[string]string{"jump": "2s", "rate": "1"}},
		"the clock of n1 runs at 1 times the true rate":                    {Kind: string(Clock), Targets: one, Measured: rate("1")},
		"the clocks of n1 and n2 run at 2 times the true rate":             {Kind: string(Clock), Targets: both, Measured: rate("2")},
		"n1 is starved of timers: the work goes on, and renewals are late": {Kind: string(Starve), Targets: one},
		"n1: the clock is set":                                        {Kind: string(Clock), Targets: one},
		"n1 is taken out of the network: nobody reaches it":           {Kind: string(Disconnect), Targets: one},
		"n1 and n2 are taken out of the network: nobody reaches them": {Kind: string(Disconnect), Targets: both},
		"the link c1-n1 is cut":                                       {Kind: string(Cut), Targets: link},
		"the links c1-n1 and c1-n2 are cut":                           {Kind: string(Cut), Targets: links},
	} {
		require.Equal(t, text, BeginText(f))
	}
	require.Equal(t, "c1 cannot reach n1 and n2", BackgroundText("c1", both, history.Fault{Kind: string(Cut)}))
	require.Equal(t, "c1: pause of n1", BackgroundText("c1", one, history.Fault{Kind: string(Pause)}), "no setting is told of a pause")
	require.Equal(t, "storm of n1 ends", EndText(history.Fault{Kind: "storm", Targets: one}))
}

func TestInterceptText(t *testing.T) {
	for n, text := range map[string]string{"": "next SET", "0": "next SET", "1": "next SET", "2": "next 2 SET"} {
		require.Equal(t, text, nextMessages("SET", n))
	}
	require.Equal(t, "next 2 commands to take a key", nextMessages(cluster.Take, "2"))
	for part, message := range map[cluster.Part]string{cluster.PartCommand: "the next SET", cluster.PartReply: "the reply to the next SET"} {
		f := history.Fault{Targets: []string{"c1-n1"}, Requested: map[string]string{"command": "SET", "part": string(part)}}
		require.Equal(t, "on the link c1-n1 "+message+" will be lost", interceptBegin("lost")(f))
		require.Equal(t, "hold "+message+" on c1-n1", interceptInstruction("hold")(Instruction{Targets: "c1-n1", Command: "SET", Part: part}))
	}
}

// What takes nodes takes their replicas as well, and nothing else does.
func TestTargets_NodesIncludeReplicas(t *testing.T) {
	require.True(t, Nodes.Accepts(Replicas))
	require.True(t, Replicas.Accepts(Replicas))
	require.False(t, Clients.Accepts(Replicas))
	require.False(t, Nodes.Accepts(Clients))
	require.False(t, Replicas.Accepts(Nodes))
}

// An fsync is slow by something.
func TestSlowFsync_ZeroDelayIsMisuse(t *testing.T) {
	given := map[string]bool{"by": true}
	require.Len(t, Find(string(SlowFsync)).Check(Use{Modifiers: given}), 1)
	require.Empty(t, Find(string(SlowFsync)).Check(Use{Modifiers: given, Delay: time.Millisecond}))
	require.Empty(t, Find(string(SlowFsync)).Check(Use{Modifiers: map[string]bool{}}))
}

// A fault has been what its beginning says, not its end.
func TestDeclarations_EffectsAndTargets(t *testing.T) {
	for phase, was := range map[history.Phase]string{history.PhaseBegin: "was paused", history.PhaseEnd: ""} {
		f := history.Fault{Kind: string(Pause), Phase: phase, Targets: []string{"n1"}}
		Classify(&f)
		require.Equal(t, was, f.Past)
		require.Equal(t, history.NodePaused, f.Class)
	}
}
