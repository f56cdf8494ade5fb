package checker

import (
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// answers are what nodes answered, where it says something about a fault: on links with
// faults on single messages, and of nodes whose memory or disk was disturbed.
type answers struct {
	// by link (c1-n1): the SETs that were not answered by an error, from their arrival to the answer
	taken map[string][]span
	signs map[string][]int64 // by node: when it answered anybody anything, or a look found it up
}

// readAnswers goes through the history for them, if it has such faults.
func readAnswers(r *record) error {
	links, nodes := map[string]bool{}, map[string]bool{}
	for _, f := range r.faults {
		switch f.class {
		case history.MessageHeld, history.MessageLost:
			links[f.target] = true
		case history.NodeDisk, history.NodeMemory:
			nodes[f.target] = true
		}
	}
	if len(links)+len(nodes) == 0 {
		return nil
	}
	r.answers = answers{map[string][]span{}, map[string][]int64{}}
	arrived := map[string]map[int64]int64{} // by link and serial
	return r.visit(func(_ int, e *history.Event) bool {
		if e.Type == history.TypeNode && e.Node != nil && e.Node.Up && nodes[e.Process] {
			r.answers.signs[e.Process] = append(r.answers.signs[e.Process], e.Time)
		}
		client, node, isLink := strings.Cut(e.Process, ">")
		link := client + "-" + node
		if !isLink || e.Command == nil || !links[link] && !nodes[node] {
			return true
		}
		if e.Type == history.TypeCommand {
			if arrived[link] == nil {
				arrived[link] = map[int64]int64{}
			}
			arrived[link][e.Command.Serial] = e.Time
			return true
		}
		r.answers.add(strings.Clone(link), strings.Clone(node), arrived[link][e.Command.Serial], e)
		delete(arrived[link], e.Command.Serial)
		return true
	})
}

// add takes a reply on a link to a command that arrived at a time.
func (a *answers) add(link, node string, arrived int64, e *history.Event) {
	a.signs[node] = append(a.signs[node], e.Time)
	if e.Command.Effect == history.EffectSet && !strings.HasPrefix(e.Command.Reply, "error") {
		a.taken[link] = append(a.taken[link], span{arrived, e.Time})
	}
}

// of gives when a node answered a client's SETs, by yes or no, in the order of the answers.
func (a answers) of(client, node string) []span { return a.taken[client+"-"+node] }

// sign gives the first sign of life of a node after a time.
func (a answers) sign(node string, after int64) (int64, bool) {
	signs := a.signs[node]
	i, _ := slices.BinarySearch(signs, after+1)
	if i == len(signs) {
		return 0, false
	}
	return signs[i], true
}
