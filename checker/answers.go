package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// answers are the nodes' replies that show a fault's effect: on links with faults on single messages, and of nodes with
// memory or disk faults. For clients with links that are cut in the background they are all messages.
type answers struct {
	faulty map[string]bool // these links, as targets (c1-n1), and these nodes
	// by link: SETs with a reply that is not an error, from arrival to reply
	setReplies  map[history.Link][]span
	signsOfLife map[string][]int64 // by node: times of its replies, and of looks that found it up
	arrived     map[sentCommand]int64
	messages    map[string][]message // by client with a background cut
}

// message is a command or a reply on a link to a node.
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

func (a answers) follow(e *history.Event) {
	if len(a.faulty)+len(a.messages) == 0 {
		return
	}
	if e.Type == history.TypeNode && e.Node != nil && e.Node.Up {
		a.signsOfLife[e.Process] = append(a.signsOfLife[e.Process], e.Time)
	}
	link, isLink := e.Link()
	if all, tracked := a.messages[link.From]; tracked && isLink {
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
	a.signsOfLife[link.To] = append(a.signsOfLife[link.To], e.Time)
	if e.Command.Effect == history.EffectSet && !e.Command.Failed() {
		a.setReplies[link] = append(a.setReplies[link], span{a.arrived[sent], e.Time})
	}
	delete(a.arrived, sent)
}

// setSpans returns the spans of a client's SETs at a node, from arrival to reply, in reply order. Error replies do not
// count.
func (a answers) setSpans(client, node string) []span {
	return a.setReplies[history.Link{From: client, To: node}]
}

// signOfLife returns a node's first sign of life after a time.
func (a answers) signOfLife(node string, after int64) (int64, bool) {
	signs := a.signsOfLife[node]
	i, _ := slices.BinarySearch(signs, after+1)
	if i == len(signs) {
		return 0, false
	}
	return signs[i], true
}
