package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

func TestIntercept_CountsMessages(t *testing.T) {
	for _, kind := range []Kind{Hold, Lose, Drop} {
		for _, part := range []cluster.Part{cluster.PartCommand, cluster.PartReply} {
			t.Run(string(kind)+" "+string(part), func(t *testing.T) {
				onClusters(t, func(t *testing.T, r *rig) {
					links := []string{"c1-n1", "c1-n2"}
					r.apply(t, Fault{Kind: kind, Targets: links, Command: "SET", Part: part})
					require.Equal(t, history.TypeFail, r.attempt(t, "c1", "k1", 60*time.Millisecond).Type, "the SETs got lost on their way")
					for _, n := range []string{"n1", "n2"} {
						received, answered := r.cluster.Link("c1", n).Count("SET")
						if part == cluster.PartReply {
							require.Equal(t, []int{1, 1}, []int{received, answered})
						} else {
							require.LessOrEqual(t, received, answered)
						}
					}
					r.apply(t, Fault{Kind: LetGo, Targets: links})
					for _, end := range r.faults()[2:] {
						require.Equal(t, history.PhaseEnd, end.Phase)
						require.Equal(t, "1", end.Measured["messages"])
						require.True(t, end.Effective)
					}
				})
			})
		}
	}
}

func TestIntercept_NoMessages_NotEffective(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Lose, Targets: []string{"c1-n1"}, Command: "UNLINK", Part: cluster.PartCommand})
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		r.apply(t, Fault{Kind: LetGo, Targets: []string{"c1-n1"}})
		require.Equal(t, "0", r.last(t).Measured["messages"])
		require.False(t, r.last(t).Effective)
	})
}

// A hold that met nothing is not proven by what another hold on its link met.
func TestIntercept_CountsOnlyItsOwnMessages(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		links := []string{"c1-n1"}
		r.apply(t, Fault{Kind: Hold, Targets: links, Command: "DEL", Part: cluster.PartCommand})
		r.apply(t, Fault{Kind: Hold, Targets: links, Command: "SET", Part: cluster.PartCommand})
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		r.apply(t, Fault{Kind: LetGo, Targets: links})
		commands, effective := map[int]string{}, map[string]bool{}
		for _, f := range r.faults() {
			if f.Phase == history.PhaseBegin {
				commands[f.ID] = f.Requested["command"]
				continue
			}
			effective[commands[f.ID]] = f.Effective
		}
		require.Equal(t, map[string]bool{"DEL": false, "SET": true}, effective)
	})
}

// A link lets go of everything at once, so the record of one intercept must not
// go on when another is ended.
func TestIntercept_LetGoEndsAllOnTheLink(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		first := r.apply(t, Fault{Kind: Hold, Targets: []string{"c1-n1"}, Command: "SET", Part: cluster.PartCommand})
		r.apply(t, Fault{Kind: Lose, Targets: []string{"c1-n1"}, Command: "GET", Part: cluster.PartReply})
		r.apply(t, Fault{Kind: Hold, Targets: []string{"c1-n2"}, Command: "GET", Part: cluster.PartReply})
		require.NoError(t, r.nemesis.End(context.Background(), first[0]))
		require.Empty(t, r.nemesis.activeOn("c1-n1", Hold, Lose, Drop))
		require.Len(t, r.nemesis.activeOn("c1-n2", Hold), 1, "another link keeps its own")
		require.Len(t, r.faults(), 5)
	})
}
