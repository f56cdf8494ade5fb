package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// answers are what nodes answered, where it says something about a fault: on links with
// faults on single messages, and of nodes whose memory or disk was disturbed; and what clients and
// nodes sent each other where the setting keeps clients from nodes.
type answers struct {
	faulty map[string]bool // such links, as targets (c1-n1), and nodes
	// by link: the SETs that were not answered by an error, from their arrival to the answer
	taken    map[history.Link][]span
	signs    map[string][]int64 // by node: when it answered anybody anything, or a look found it up
	arrived  map[sentCommand]int64
	messages map[string][]message // by such a client
}

// message is a command or an answer on a link to a node.
type message struct {
	time    int64
	node    string
	command bool
}

func newAnswers(fs faults) answers {
	a := answers{map[string]bool{}, map[history.Link][]span{}, map[string][]int64{}, map[sentCommand]int64{},
		map[string][]message{}}
	for _, f := range fs {
		switch f.class {
		case history.MessageHeld, history.MessageLost, history.NodeDisk, history.NodeMemory:
			a.faulty[f.target] = true
		case history.LinkCut:
			if f.link != (history.Link{}) && f.cause.Background {
				a.messages[f.link.From] = []message{}
			}
		}
	}
	return a
}

// follow takes the next event.
func (a answers) follow(e *history.Event) {
	if len(a.faulty)+len(a.messages) == 0 {
		return
	}
	if e.Type == history.TypeNode && e.Node != nil && e.Node.Up {
		a.signs[e.Process] = append(a.signs[e.Process], e.Time)
	}
	link, isLink := e.Link()
	if all, far := a.messages[link.From]; far && isLink {
		a.messages[link.From] = append(all, message{e.Time, link.To, e.Type == history.TypeCommand})
	}
	if !isLink || e.Command == nil || !a.faulty[link.Target()] && !a.faulty[link.To] {
		return
	}
	sent := sentCommand{link, e.Command.Serial}
	if e.Type == history.TypeCommand {
		a.arrived[sent] = e.Time
		return
	}
	a.signs[link.To] = append(a.signs[link.To], e.Time)
	if e.Command.Effect == history.EffectSet && !e.Command.Failed() {
		a.taken[link] = append(a.taken[link], span{a.arrived[sent], e.Time})
	}
	delete(a.arrived, sent)
}

// of gives when a node answered a client's SETs, by yes or no, in the order of the answers.
func (a answers) of(client, node string) []span { return a.taken[history.Link{From: client, To: node}] }

// sign gives the first sign of life of a node after a time.
func (a answers) sign(node string, after int64) (int64, bool) {
	signs := a.signs[node]
	i, _ := slices.BinarySearch(signs, after+1)
	if i == len(signs) {
		return 0, false
	}
	return signs[i], true
}
