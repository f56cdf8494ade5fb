package nemesis

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

func TestApply_RefusesInvalidFaults(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n3"}})
		r.apply(t, Fault{Kind: Pause, Targets: []string{"n2", "c2"}})
		r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		before := len(r.faults())
		for _, c := range []struct {
			kind         Kind
			target, want string
		}{
			{Kill, "n3", "kill n3: already down"},
			{Shutdown, "n3", "shutdown n3: already down"},
			{Start, "n1", "start n1: already up"},
			{Start, "n2", "start n2: already up"},
			{Pause, "n2", "pause n2: already in effect"},
			{Pause, "c2", "pause c2: already in effect"},
			{Starve, "c1", "starve c1: already in effect"},
			{Starve, "c2", "starve c2: paused: it cannot be told"},
			{Pause, "n3", "the node is down"},
			{Flush, "n3", "the node is down"},
			{Shutdown, "n2", "paused"},
			{Shutdown, "c1", "shutdown c1: invalid target: want nodes"},
			{Resume, "n1", "resume n1: no pause is in effect"},
			{Resume, "c1", "resume c1: no pause is in effect"},
			{Heal, "c1-n1", "heal c1-n1: no cut is in effect"},
			{LetGo, "c1-n1", "let-go c1-n1: no hold is in effect"},
			{Cut, "c1", "cut c1: invalid target: want links"},
			{Cut, "n1-n2", `cut n1-n2: unknown link from "n1" to "n2"`},
			{Cut, "c1-n9", `cut c1-n9: unknown link from "c1" to "n9"`},
			{Delay, "c1-n9", `unknown link from "c1" to "n9"`},
			{Hold, "c9-n1", `unknown link from "c9" to "n1"`},
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

// A fault that not every cluster can do says so in its declaration: scenarios are skipped by that.
func TestFaultsNameTheAbilityThatTheyNeed(t *testing.T) {
	for _, d := range Declarations() {
		if d.Node == nil {
			continue
		}
		t.Run(string(d.Kind), func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				begun, err := r.nemesis.Apply(ctx, Fault{Kind: d.Kind, Targets: []string{"n2"}, To: "n3",
					Key: "k1", Delay: time.Second, Jump: time.Second, Duration: 100 * time.Millisecond})
				lack, refused := errors.AsType[*cluster.Unsupported](err)
				declared := d.Node.Needs != "" && r.can(d.Node.Needs) != nil
				require.Equal(t, declared, refused, "needs %q, and got %v", d.Node.Needs, err)
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

// What "met" counts is said for each fault, and stands in the document of histories.
func TestEveryFault_DocumentsWhatItAffects(t *testing.T) {
	text, err := os.ReadFile("../docs/history.md")
	require.NoError(t, err)
	for _, d := range Declarations() {
		if !d.Breaks() || d.Kind == "freeze" { // a test's own
			require.Empty(t, d.AffectedDoc, d.Kind)
			continue
		}
		require.Contains(t, string(text), "| `"+string(d.Kind)+"` | "+d.AffectedDoc+" |\n")
	}
}

// Faults are numbered from 1 in the order in which they begin; only a delay says by how much.
func TestFaultIDsAreSequential(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Delay, Targets: []string{"c1-n1"}, Delay: 5 * time.Millisecond})
		r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n2"}, Delay: 5 * time.Millisecond, Direction: cluster.ToNode})
		r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n3"}})
		var ids []int
		var by []int64
		for _, f := range r.faults() {
			ids, by = append(ids, f.ID), append(by, f.Delay)
		}
		require.Equal(t, []int{1, 2, 3, 4}, ids)
		require.Equal(t, []int64{0, int64(5 * time.Millisecond), 0, 0}, by)
		require.Equal(t, string(cluster.ToNode), r.faults()[2].Requested["direction"])
		require.Equal(t, string(cluster.Both), r.faults()[3].Requested["direction"])
	})
}

// An end is recorded once, the last fault's first, with how long it lasted.
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
