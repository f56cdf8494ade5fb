package nemesis

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

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

// metBy gives what the last fault of a rig met.
func (r *rig) metBy(t *testing.T) int {
	t.Helper()
	all := r.faults()
	last := all[len(all)-1]
	require.NotEqual(t, history.PhaseBegin, last.Phase)
	require.NotNil(t, last.Affected, "it is counted")
	return *last.Affected
}

func TestFaults_CountAffectedMessages(t *testing.T) {
	for _, f := range []Fault{
		{Kind: Cut, Targets: []string{"c1-n1"}},
		{Kind: Cut, Targets: []string{"c1-n1"}, Direction: cluster.ToClient},
		{Kind: Delay, Targets: []string{"c1-n1"}, Delay: 5 * time.Millisecond},
		{Kind: Pause, Targets: []string{"n1"}},
		{Kind: Hold, Targets: []string{"c1-n1"}, Command: "SET", Part: cluster.PartReply},
	} {
		t.Run(string(f.Kind)+" "+string(f.Direction), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type) // connects
				r.sleep(200 * time.Millisecond)                                              // what a majority did not wait for arrives
				during := func(work func()) {
					begun := r.apply(t, f)
					work()
					for _, a := range begun {
						require.NoError(t, r.nemesis.End(t.Context(), a))
					}
				}
				during(func() { r.sleep(20 * time.Millisecond) })
				require.Zero(t, r.metBy(t), "nobody asked for anything")
				require.Empty(t, r.last(t).SentAt)
				from := r.cluster.Now()
				r.sleep(20 * time.Millisecond)
				during(func() {
					r.attempt(t, "c1", "k2", time.Second)
					r.sleep(200 * time.Millisecond) // n1 may be the one that the majority did not wait for
				})
				require.Positive(t, r.metBy(t))
				if f.Kind == Cut || f.Kind == Hold {
					sent := r.last(t).SentAt
					require.NotEmpty(t, sent)
					require.LessOrEqual(t, from, sent[0])
					require.IsIncreasing(t, append(slices.Compact(sent), r.cluster.Now()))
				}
			})
		})
	}
}

func TestFlush_CountsAffectedKeys(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n1"}})
		require.Zero(t, r.metBy(t))
		r.attempt(t, "c1", "k1", time.Second)
		r.sleep(200 * time.Millisecond)
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n1"}})
		require.Equal(t, 1, r.metBy(t))
	})
}
