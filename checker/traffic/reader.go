package traffic

import (
	"maps"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// precision is a server's error of timing, in nanoseconds: it counts milliseconds, and samples its clock up to one
// before it executes a command, once for each.
const precision = 2_000_000

// lookDuration is how long a look into a node may take in real time, in nanoseconds: its end is recorded, not its
// beginning. It was chosen to be generous: the order of a look and a command within this time is not judged.
const lookDuration = 1_000_000_000

// Reader reads the events of a history in order, and judges as it reads. It keeps only the operations that are not
// judged.
type Reader struct {
	report      Report
	header      history.Header
	nodes       map[string]*node
	links       map[string]*channel
	locks       map[string]bool // the keys of clients' operations on the lock
	quorum      quorumCheck
	slack       int64
	now         int64
	searchSteps int // remaining search steps
	store       *node
	toStore     bool                // the history shows the store's links
	writes      map[acceptance]bool // that the store accepted, and that no client has reported
}

// node is a server of the run.
type node struct {
	name     string
	runID    string // of the server, at the last look
	clock    clock
	keys     map[string]*register
	others   map[string]bool // keys that a look has shown before any command named them
	evicting bool            // its memory is full
	looked   bool            // a look has shown its keys since it came up
	lookedAt op              // that look, for a key that it does not show
}

// channel is a link from a client to a node.
type channel struct {
	name   string
	client string
	node   *node          // nil: a server that is not judged
	open   map[int64]sent // the commands that have no reply yet, by serial
}

// sent are a command's operations: on its key, and on others that it may have changed.
type sent struct {
	op     *op
	others []*op
}

// NewReader returns a reader of a new history.
func NewReader() *Reader {
	return &Reader{nodes: map[string]*node{}, links: map[string]*channel{}, locks: map[string]bool{},
		searchSteps: searchesLimit, store: newStore(), writes: map[acceptance]bool{}}
}

// Add reads the next event, which has that index in the history.
func (r *Reader) Add(i int, e *history.Event) {
	r.now = e.Time
	switch {
	case e.Type == history.TypeHeader && e.Header != nil:
		r.begin(e.Header)
	case e.Type == history.TypeCommand && e.Command != nil:
		r.command(i, e)
	case e.Type == history.TypeReply && e.Command != nil:
		r.reply(e)
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		r.look(i, e)
	case e.Type == history.TypeClock && e.Clock != nil:
		if n := r.nodes[e.Process]; n != nil {
			n.clock.set(e)
		}
	case e.Type == history.TypeFault && e.Fault != nil:
		r.fault(i, e)
	case e.Op == history.OpRead || e.Op == history.OpWrite:
		r.checkWrite(i, e)
	default:
		if e.Type == history.TypeInvoke {
			r.locks[e.Key] = true
		}
		r.quorum.operation(r, i, e)
	}
}

// Report judges the remaining operations, and returns the whole report.
func (r *Reader) Report() *Report {
	for _, n := range r.nodes {
		n.finish(r)
	}
	r.store.finish(r)
	slices.SortFunc(r.report.Findings, func(a, b Finding) int { return a.Event - b.Event })
	return &r.report
}

func (n *node) finish(r *Reader) {
	for _, g := range n.keys {
		g.finish(r)
	}
}

func (r *Reader) begin(h *history.Header) {
	r.header = *h
	r.slack = precision
	if h.RealTime {
		r.slack += h.StallLimit
	}
	if len(h.Replicas) > 0 { // which may replace their masters: the nodes are not judged
		return
	}
	for _, name := range h.Nodes {
		r.nodes[name] = &node{name: name, keys: map[string]*register{}, others: map[string]bool{}}
	}
	r.quorum = quorumCheck{h.Quorum, map[clientKey]*votes{}}
}

func (r *Reader) channel(process string) *channel {
	c := r.links[process]
	if c == nil {
		client, name, _ := strings.Cut(process, ">")
		c = &channel{name: process, client: client, node: r.nodes[name], open: map[int64]sent{}}
		if name == history.StoreName {
			c.node, r.toStore = r.store, true
		}
		r.links[process] = c
	}
	return c
}

func (r *Reader) command(i int, e *history.Event) {
	c, cmd := r.channel(e.Process), e.Command
	actions := actionOf
	if c.node == r.store {
		actions = storeActionOf
	}
	act, known := actions[cmd.Effect]
	// a script with an unknown effect, or an unknown command
	if !known && c.node != r.store && cmd.MayChange() {
		act, known = unseen, true
	}
	if c.node == nil || !known {
		return
	}
	o := &op{
		action: act, unconditional: cmd.Unconditional, script: strings.HasPrefix(cmd.Name, "EVAL"),
		evicting: c.node.evicting,
		token:    cmd.Token, expiry: cmd.Expiry, expiresAt: cmd.ExpiresAt, call: e.Time, ret: never, event: i,
		process: c.name,
	}
	if c.node == r.store {
		o.check, o.fence, o.base = r.checks(cmd), cmd.Fence, cmd.Base
	}
	s := sent{op: o}
	if cmd.Key != "" {
		c.node.register(r, cmd.Key).add(r, o)
	}
	for _, g := range c.node.otherKeys(r, cmd) {
		touched := *o
		touched.action = unseen
		g.add(r, &touched)
		s.others = append(s.others, &touched)
	}
	c.open[cmd.Serial] = s
}

// otherKeys returns the registers that a command may have changed besides its key's. A command without a key may have
// changed any, and keys that appear later are unknown.
func (n *node) otherKeys(r *Reader, c *history.Command) []*register {
	if c.Key == "" {
		n.looked = false
		return slices.Collect(maps.Values(n.keys))
	}
	var touched []*register
	for _, word := range c.Others {
		touched = append(touched, n.register(r, word))
	}
	return touched
}

func (r *Reader) reply(e *history.Event) {
	c := r.channel(e.Process)
	s, found := c.open[e.Command.Serial]
	if !found {
		return
	}
	delete(c.open, e.Command.Serial)
	for _, other := range s.others {
		if other.answered(e.Command); other.answer != silent {
			other.end(e.Time)
		}
	}
	o := s.op
	if o.register == nil {
		return
	}
	if does, known := actionOf[e.Command.Effect]; known && o.action == unseen {
		o = o.identified(r, does, e)
	} else if !known && c.node != r.store && e.Command.MayChange() { // the reply does not show its effect either
		o.action = unseen
	}
	o.answered(e.Command)
	if o.answer == silent { // the reply shows no effect
		return
	}
	o.end(e.Time)
	r.quorum.addVote(c.client, c.node.name, o, e)
	r.recordAcceptance(o, e)
}

// identified returns the operation of a script whose effect was unknown when it was called. It may be about another of
// its keys than the first.
func (o *op) identified(r *Reader, does action, e *history.Event) *op {
	if o.register.key == e.Command.Key {
		o.action = does
		return o
	}
	o.answer = refused // it did nothing to this key
	o.end(e.Time)
	other := *o
	other.action, other.answer, other.ret = does, silent, never
	o.register.node.register(r, e.Command.Key).add(r, &other)
	return &other
}

// answered sets an operation's answer from its reply.
func (o *op) answered(c *history.Command) {
	switch {
	case c.Reply == "QUEUED":
	case c.Failed():
		o.answer = refused
	case c.Done:
		o.answer = yes
	default:
		o.answer = no
	}
	shows := c.Name == "SET" && c.Reply != "OK" || c.Effect == history.EffectRead
	if o.action == get && c.Done {
		o.seen = c.Reply
	} else if shows && o.answer != refused && c.Reply != "nil" && !strings.HasSuffix(c.Reply, "...") {
		o.seen = c.Reply
	}
	if o.script { // it may have been unknown when it was sent
		o.expiry, o.token, o.unconditional = c.Expiry, c.Token, c.Unconditional
	}
}

func (r *Reader) look(i int, e *history.Event) {
	n := r.server(e)
	if n == nil {
		return
	}
	for key, state := range e.Node.Keys {
		if n.keys[key] != nil {
			continue
		}
		if state.Token != "" && r.locks[key] {
			n.register(r, key)
		} else { // data that the lock guards, or a script's counter: no command named it
			n.others[key] = true
		}
	}
	began := e.Time
	if r.header.RealTime {
		began = max(0, began-lookDuration)
	}
	n.looked, n.lookedAt = true,
		op{action: look, answer: no, call: began, ret: e.Time, event: i, process: n.name, evicting: n.evicting}
	for key, g := range n.keys {
		copied := n.lookedAt
		o := &copied
		if seen, present := e.Node.Keys[key]; present {
			o.answer, o.seen = yes, seen.Token
			if seen.TTL >= 0 {
				o.expiry = max(seen.TTL, 1) // it may have less than a millisecond left
			}
		}
		g.add(r, o)
		o.end(e.Time)
	}
}

// server returns the server of a look. Two nodes may be one server, by mistake: they have one run id.
func (r *Reader) server(e *history.Event) *node {
	n := r.nodes[e.Process]
	if n == nil || e.Node.RunID == "" {
		return n
	}
	for _, name := range r.header.Nodes {
		if same := r.nodes[name]; same.runID == e.Node.RunID {
			r.nodes[n.name] = same
			return same
		}
	}
	n.runID = e.Node.RunID
	return n
}

// fault handles the faults that remove keys.
func (r *Reader) fault(i int, e *history.Event) {
	targets := e.Fault.Targets
	if e.Fault.Class == history.SlotMoves {
		targets = append(slices.Clone(targets), e.Fault.Asked.To)
	}
	for _, target := range targets {
		n := r.nodes[target]
		if n == nil {
			continue
		}
		switch e.Fault.Class {
		case history.NodeMemory:
			n.evicting = true // for good: evictions under way continue for a while
		case history.SlotMoves: // keys move at its beginning and at its end
			n.restart(r, i, e)
		case history.NodeDown, history.NodeForgets, history.Failover:
			if e.Fault.Phase != history.PhaseEnd {
				n.restart(r, i, e)
			}
		}
	}
}

// restart makes the state of all keys unknown. A server that died executes none of the commands under way.
func (n *node) restart(r *Reader, i int, e *history.Event) {
	since := e.Time
	if e.Fault.Since > 0 {
		since = min(since, e.Fault.Since)
	}
	n.looked = false
	for _, g := range n.keys {
		if e.Fault.Class == history.NodeDown {
			g.abandon(e.Time)
		}
		o := &op{action: reset, answer: yes, call: since, event: i, process: n.name}
		g.add(r, o)
		o.end(e.Time)
	}
}

// register returns a key's register. A new one is unknown, unless a look into the node did not show the key.
func (n *node) register(r *Reader, key string) *register {
	g := n.keys[key]
	if g == nil {
		g = &register{node: n, key: key}
		n.keys[key] = g
		if n.looked && !n.others[key] {
			shown := n.lookedAt
			g.add(r, &shown)
			shown.end(shown.ret)
		}
	}
	return g
}
