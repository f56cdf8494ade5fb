package nemesis

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	_ "example.org/lockproof/harness/cluster/docker"
	"example.org/lockproof/harness/history"
)

func TestApply_RefusesInvalidFaults(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n3"}})
		r.apply(t, Fault{Kind: Pause, Targets: []string{"n2", "c2"}})
		r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		before := len(r.faults())
		for _, c := range []struct {
			kind         string
			target, want string
		}{
			{Kill, "n3", "kill n3: already down"},
			{Shutdown, "n3", "shutdown n3: already down"},
			{Start, "n1", "start n1: already up"},
			{Start, "n2", "start n2: already up"},
			{Pause, "n2", "pause n2: already in effect"},
			{Pause, "c2", "pause c2: already in effect"},
			{Starve, "c1", "starve c1: already in effect"},
			{Starve, "c2", "starve c2: paused: it cannot be starved"},
			{Pause, "n3", "the node is down"},
			{Flush, "n3", "the node is down"},
			{Shutdown, "n2", "paused"},
			{Shutdown, "c1", "shutdown c1: invalid target: want nodes"},
			{Resume, "n1", "resume n1: no pause is in effect"},
			{Resume, "c1", "resume c1: no pause is in effect"},
			{Heal, "c1-n1", "heal c1-n1: no cut is in effect"},
			{LetGo, "c1-n1", "let-go c1-n1: no hold is in effect"},
			{Cut, "c1", "cut c1: invalid target: want links"},
			{Cut, "n1-n2", `cut n1-n2: no link n1-n2: a link is CLIENT-NODE`},
			{Cut, "c1-n9", `cut c1-n9: no link c1-n9: a link is`},
			{Delay, "c1-n9", `no link c1-n9: a link is`},
			{Hold, "c9-n1", `no link c9-n1: a link is`},
			{Hold, "c1-n1", "an intercept needs the name of a command"},
			{Kill, "n9", "kill n9: unknown client or node n9"},
			{Pause, "n9", "pause n9: unknown client or node n9"},
			{Clock, "n9", "clock n9: unknown client or node n9"},
			{Flush, "n9", "flush n9: unknown client or node n9"},
			{"melt", "n1", "melt n1: unknown fault"},
		} {
			r.refused(t, Fault{Kind: c.kind, Targets: []string{c.target}, Delay: time.Second, Jump: time.Second}, c.want)
		}
		require.Len(t, r.faults(), before, "what was not done is not in the history")
	})
}

// Tests skip faults that a kind of cluster cannot do: without this list, a kind could lose an ability unnoticed.
func TestKinds_CanDoTheirFaults(t *testing.T) {
	real := []string{cluster.Local, cluster.Docker}
	only := map[string][]string{Fill: real, Rewrite: real, MigrateSlot: real, SlowFsync: real, FailFsync: real,
		FillDisk:   real,
		Disconnect: {cluster.Docker}}
	for _, d := range Declarations() {
		if d.Node == nil || d.Node.Needs == nil {
			require.NotContains(t, only, d.Kind)
			continue
		}
		var can []string
		for _, kind := range cluster.Kinds {
			kind.Lacks = nil // ignores this machine
			if kind.Can(d.Node.Needs) == nil {
				can = append(can, kind.Name)
			}
		}
		want := only[d.Kind]
		if want == nil {
			want = []string{cluster.Virtual, cluster.Local, cluster.Docker}
		}
		require.ElementsMatch(t, want, can, "kinds whose nodes have the methods of %s: is the list of this test wrong, or "+
			"does a kind lack a method?", d.Kind)
	}
}

// Scenarios are skipped by the declared ability.
func TestDeclarations_UnsupportedFault_NamesItsAbility(t *testing.T) {
	for _, d := range Declarations() {
		if d.Node == nil {
			continue
		}
		t.Run(d.Kind, func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				begun, err := r.nemesis.Apply(ctx, Fault{Kind: d.Kind, Targets: []string{"n2"}, To: "n3",
					Key: "k1", Delay: time.Second, Jump: time.Second, Duration: 100 * time.Millisecond})
				lack, refused := errors.AsType[*cluster.Unsupported](err)
				declared := d.Node.Needs != nil && r.can(d.Node.Needs) != nil
				require.Equal(t, declared, refused, "needs %v, and got %v", d.Node.Needs, err)
				if refused {
					require.NotEmpty(t, lack.Needs)
				}
				for _, a := range begun {
					require.NoError(t, r.nemesis.End(ctx, a))
				}
			})
		})
	}
}

// docs/history.md describes what each fault affects, or why that is not counted.
func TestHistoryPage_DescribesAffectedOfEveryFault(t *testing.T) {
	text, err := os.ReadFile("../docs/history.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "| fault | `met` |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, d := range Declarations() {
		described := strings.Contains(table, "\n| `"+d.Kind+"` | ")
		require.Equal(t, d.Breaks() && d.Kind != "freeze", described, d.Kind) // freeze is a test's own
	}
}

// Faults are numbered from 1 in the order of their begins; only a delay records its length.
func TestFaultIDsAreSequential(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Delay, Targets: []string{"c1-n1"}, Delay: 5 * time.Millisecond})
		r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n2"}, Delay: 5 * time.Millisecond, Direction: history.ToNode})
		r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n3"}})
		var ids []int
		var by []int64
		for _, f := range r.faults() {
			ids, by = append(ids, f.ID), append(by, f.Delay)
		}
		require.Equal(t, []int{1, 2, 3, 4}, ids)
		require.Equal(t, []int64{0, int64(5 * time.Millisecond), 0, 0}, by)
		require.Equal(t, history.ToNode, r.faults()[2].Asked.Direction)
		require.Equal(t, history.Both, r.faults()[3].Asked.Direction)
	})
}

// Ends are recorded once, the last fault's first, with the fault's duration.
func TestEnd_OnceAndLastFirst(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		begun := r.apply(t, Fault{Kind: Busy, Targets: []string{"n1", "n2"}, Duration: 300 * time.Millisecond})
		r.sleep(300 * time.Millisecond)
		require.NoError(t, r.nemesis.EndAll(ctx))
		require.NoError(t, r.nemesis.End(ctx, begun[0]))
		all := r.faults()
		require.Len(t, all, 4)
		for i, target := range map[int]string{2: "n2", 3: "n1"} {
			require.Equal(t, history.PhaseEnd, all[i].Phase)
			require.Equal(t, []string{target}, all[i].Targets)
			require.InDelta(t, 300*time.Millisecond, duration(t, all[i].Measured, "lasted"), float64(10*time.Millisecond))
		}
	})
}

func TestInstructionText_FitsItsQuantities(t *testing.T) {
	for text, o := range map[string]struct {
		kind  string
		order Instruction
	}{
		"let the clock of n1 jump forward by 1 s": {Clock, Instruction{Targets: "n1", Jump: "1 s"}},
		"let the clock of n1 jump back by 1 s": {Clock, Instruction{Targets: "n1", Jump: "1 s",
			Backward: true}},
		"let the clock of n1 run at 0.8 times the true rate": {Clock, Instruction{Targets: "n1", Rate: 0.8}},
		"remove the delay of c1-n1":                          {Delay, Instruction{Targets: "c1-n1"}},
		"delay c1-n1 by 5 ms one way, towards the node only": {Delay, Instruction{Targets: "c1-n1", Delay: "5 ms",
			Direction: history.ToNode}},
		"lose the reply to the next SET on c1-n1": {Lose, Instruction{Targets: "c1-n1", Command: "SET", Count: 1,
			Part: history.PartReply}},
		"hold the next SET on c1-n1": {Hold, Instruction{Targets: "c1-n1", Command: "SET", Part: history.PartCommand}},
		"let the clock of n1 jump back by 1 s and run at 2 times the true rate": {Clock,
			Instruction{Targets: "n1", Jump: "1 s", Backward: true, Rate: 2}},
	} {
		said, known := InstructionText(string(o.kind), o.order)
		require.True(t, known)
		require.Equal(t, text, said)
	}
}

func TestBeginText_FitsOneTargetOrSeveral(t *testing.T) {
	both, one := []string{"n1", "n2"}, []string{"n1"}
	link, links := []string{"c1-n1"}, []string{"c1-n1", "c1-n2"}
	jump := func(by time.Duration) history.Asked { return history.Asked{Jump: history.Duration(by)} }
	rate := func(is float64) history.Asked { return history.Asked{Rate: is} }
	for text, f := range map[string]history.Fault{
		"the clock of n1 jumps back by 1 s":           {Kind: Clock, Targets: one, Asked: jump(-time.Second)},
		"the clocks of n1 and n2 jump forward by 1 s": {Kind: Clock, Targets: both, Asked: jump(time.Second)},
		"the clock of n1 jumps forward by 2 s": {Kind: Clock, Targets: one, Asked: jump(time.Second),
			Measured: map[string]string{"jump": "2s", "rate": "1"}},
		"the clock of n1 runs at 1 times the true rate": {Kind: Clock, Targets: one,
			Asked: rate(1)},
		"the clocks of n1 and n2 run at 2 times the true rate": {Kind: Clock, Targets: both,
			Asked: rate(2)},
		"the timers of n1 are blocked: its work goes on, and renewals are late": {Kind: Starve, Targets: one},
		"n1: the clock is set":                        {Kind: Clock, Targets: one},
		"n1 is disconnected from the network":         {Kind: Disconnect, Targets: one},
		"n1 and n2 are disconnected from the network": {Kind: Disconnect, Targets: both},
		"the link c1-n1 is cut":                       {Kind: Cut, Targets: link},
		"the links c1-n1 and c1-n2 are cut":           {Kind: Cut, Targets: links},
		"on the link c1-n1 the reply to the next SET will be lost": {Kind: Lose, Targets: link,
			Asked: history.Asked{Command: "SET", Part: history.PartReply}},
		"on the link c1-n1 the next 2 commands to take a key will be lost": {Kind: Lose, Targets: link,
			Asked: history.Asked{Command: history.Take, Part: history.PartCommand, Times: 2}},
	} {
		require.Equal(t, text, BeginText(f))
	}
	require.Equal(t, "c1 cannot reach n1 and n2", BackgroundText("c1", both, history.Fault{Kind: Cut}))
	require.Equal(t, "c1: pause of n1", BackgroundText("c1", one, history.Fault{Kind: Pause}),
		"no setting is told of a pause")
	require.Equal(t, "storm of n1 ends", EndText(history.Fault{Kind: "storm", Targets: one}))
}

func TestSlowFsync_ZeroDelayIsMisuse(t *testing.T) {
	given := map[string]bool{"by": true}
	require.Len(t, Find(SlowFsync).Check(Use{Modifiers: given}), 1)
	require.Empty(t, Find(SlowFsync).Check(Use{Modifiers: given, Delay: time.Millisecond}))
	require.Empty(t, Find(SlowFsync).Check(Use{Modifiers: map[string]bool{}}))
}

func TestClassify_End_HasNoPast(t *testing.T) {
	for phase, was := range map[history.Phase]string{history.PhaseBegin: "was paused", history.PhaseEnd: ""} {
		f := history.Fault{Kind: Pause, Phase: phase, Targets: []string{"n1"}}
		Classify(&f)
		require.Equal(t, was, f.Past)
		require.Equal(t, history.NodePaused, f.Class)
	}
}
