package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// life kills a client, or takes a node down or brings it back. The proof is a
// look at the node afterwards: it is down, or it is up with a new run id.
func (n *Nemesis) life(ctx context.Context, f Fault, target string) error {
	if n.names[target] {
		return n.killClient(f, target)
	}
	node, err := n.node(target)
	if err != nil {
		return err
	}
	before, err := n.look(ctx, target)
	if err != nil {
		return err
	}
	// A paused node shows nothing of itself; it can be killed all the same.
	paused := n.on(target, Pause)
	if up := before.Up || len(paused) > 0; up == (f.Kind == Start) {
		return errors.New(map[bool]string{true: "it is up already", false: "it is down already"}[up])
	}
	earlier := n.runID(target)
	measured := map[string]string{}
	f.since = n.cluster.Now() // the look before found it as it was
	if err := turn(ctx, node, f.Kind, measured); err != nil {
		return err
	}
	for _, a := range n.on(target, Pause, Rewrite) { // no process is left to go on
		n.cutShort(a, f.Kind)
	}
	kept := true
	if f.Kind == Start {
		if kept, err = n.keptClock(ctx, target, measured); err != nil {
			return err
		}
	}
	// The last thing: what a look shows is recorded as of now.
	after, err := node.Look(ctx)
	if err != nil {
		return err
	}
	measured["state"] = upOrDown(after.Up)
	if after.Up {
		measured["run id"] = after.RunID
		measured["keys"] = strconv.Itoa(len(after.Keys))
	}
	another := after.Up && after.RunID != earlier
	// What went down may be up again: a supervisor can be quicker than a look.
	n.instant(f, target, nil, proof{measured, another && kept || !after.Up && f.Kind != Start})
	n.saw(target, after)
	if f.Kind == Kill || f.Kind == Shutdown {
		return n.supervised(ctx, node, earlier)
	}
	return nil
}

// supervised waits until a node's supervisor, if it has one, has brought it back,
// and records that as a start. The proof is another run id than before.
func (n *Nemesis) supervised(ctx context.Context, node cluster.Node, earlier string) error {
	s, ok := node.(cluster.Supervised)
	if !ok {
		return nil
	}
	began := n.cluster.Now()
	back, err := s.AwaitRestart(ctx)
	if err != nil || !back {
		return err
	}
	seen, err := node.Look(ctx)
	if err != nil {
		return err
	}
	measured := map[string]string{"by": "its supervisor", "back after": time.Duration(n.cluster.Now() - began).String(),
		"state": upOrDown(seen.Up), "run id": seen.RunID, "keys": strconv.Itoa(len(seen.Keys))}
	n.instant(Fault{Kind: Start, since: began}, node.Name(), nil, proof{measured, seen.Up && seen.RunID != earlier})
	n.saw(node.Name(), seen)
	return nil
}

func upOrDown(up bool) string { return map[bool]string{true: "up", false: "down"}[up] }

// turn takes a node down or brings it back, and notes what it cost.
func turn(ctx context.Context, node cluster.Node, kind Kind, measured map[string]string) error {
	switch kind {
	case Kill:
		return node.Kill(ctx)
	case Shutdown:
		return node.Shutdown(ctx)
	case PowerLoss:
		lost, err := node.PowerLoss(ctx)
		measured["lost"] = strconv.FormatInt(lost, 10) + " bytes"
		return err
	}
	return node.Start(ctx)
}

func (n *Nemesis) killClient(f Fault, name string) error {
	if f.Kind != Kill {
		return fmt.Errorf("a client can be killed, not %s", f.Kind)
	}
	if err := n.clients.Kill(name); err != nil {
		return err
	}
	for _, a := range n.on(name, Pause) {
		n.cutShort(a, f.Kind)
	}
	n.instant(f, name, nil, proof{map[string]string{"state": "gone"}, true})
	return nil
}

// look looks into a node and records what it saw.
func (n *Nemesis) look(ctx context.Context, name string) (history.Node, error) {
	node, err := n.node(name)
	if err != nil {
		return history.Node{}, err
	}
	seen, err := node.Look(ctx)
	if err == nil {
		n.saw(name, seen)
	}
	return seen, err
}

func (n *Nemesis) saw(name string, seen history.Node) {
	if seen.Up {
		n.mu.Lock()
		n.runIDs[name] = seen.RunID
		n.mu.Unlock()
	}
	n.record(history.Event{Time: n.cluster.Now(), Process: name, Type: history.TypeNode, Node: &seen})
}

// runID is a node's run id as it was last seen.
func (n *Nemesis) runID(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runIDs[name]
}
