package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// nodeReplies are the nodes' replies that show a fault's effect: on links with faults on single messages, and of nodes
// with memory or disk faults. For clients with links that are cut in the background they are all messages.
type nodeReplies struct {
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

func newNodeReplies(fs faults) nodeReplies {
	r := nodeReplies{map[string]bool{}, map[history.Link][]span{}, map[string][]int64{}, map[sentCommand]int64{},
		map[string][]message{}}
	for _, f := range fs {
		switch f.Class {
		case history.MessageHeld, history.MessageLost, history.NodeDisk, history.NodeMemory:
			r.faulty[f.target] = true
		case history.LinkCut:
			if f.link != (history.Link{}) && f.Background {
				r.messages[f.link.From] = []message{}
			}
		}
	}
	return r
}

func (r nodeReplies) follow(e *history.Event) {
	if len(r.faulty)+len(r.messages) == 0 {
		return
	}
	if e.Type == history.TypeNode && e.Node != nil && e.Node.Up {
		r.signsOfLife[e.Process] = append(r.signsOfLife[e.Process], e.Time)
	}
	link, isLink := e.Link()
	if all, tracked := r.messages[link.From]; tracked && isLink {
		r.messages[link.From] = append(all, message{e.Time, link.To, e.Type == history.TypeCommand})
	}
	if !isLink || e.Command == nil || !r.faulty[link.Target()] && !r.faulty[link.To] {
		return
	}
	sent := sentCommand{link, e.Command.Serial}
	if e.Type == history.TypeCommand {
		r.arrived[sent] = e.Time
		return
	}
	r.signsOfLife[link.To] = append(r.signsOfLife[link.To], e.Time)
	if e.Command.Effect == history.EffectSet && !e.Command.Failed() {
		r.setReplies[link] = append(r.setReplies[link], span{r.arrived[sent], e.Time})
	}
	delete(r.arrived, sent)
}

// setSpans returns the spans of a client's SETs at a node, from arrival to reply, in reply order. Error replies do not
// count.
func (r nodeReplies) setSpans(client, node string) []span {
	return r.setReplies[history.Link{From: client, To: node}]
}

// signOfLife returns a node's first sign of life after a time.
func (r nodeReplies) signOfLife(node string, after int64) (int64, bool) {
	signs := r.signsOfLife[node]
	i, _ := slices.BinarySearch(signs, after+1)
	if i == len(signs) {
		return 0, false
	}
	return signs[i], true
}
