package nemesis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// stopOrStart stops or starts a node by change, which adds its own measured values. The proof is a look afterwards: the
// node is down, or up with a new run ID. It returns the earlier run ID.
func (n *Nemesis) stopOrStart(ctx context.Context, f Fault, target string,
	change func(cluster.Node, map[string]string) error) (earlier string, err error) {
	starts := f.Kind == Start
	node, err := n.node(target)
	if err != nil {
		return "", err
	}
	before, err := n.Inspect(ctx, target)
	if err != nil {
		return "", err
	}
	// A paused or occupied node answers no look, but can be killed.
	if up := before.Up || len(n.paused(target)) > 0 || n.isOccupied(target); up && starts {
		return "", NotInEffect("already up")
	} else if !up && !starts {
		return "", errors.New("already down")
	}
	earlier = n.lastRunID(target)
	measured := map[string]string{}
	f.startedAfter = n.cluster.Now() // at the look before, there was no effect
	if err := change(node, measured); err != nil {
		return "", err
	}
	n.endWithProcess(target, f.Kind)
	kept := true
	if starts {
		if kept, err = n.clockSurvived(ctx, target, measured); err != nil {
			return "", err
		}
	}
	// The look comes last, because it is recorded with the present time.
	after, err := node.Look(ctx)
	if err != nil {
		return "", err
	}
	measured["state"] = stateName(after.Up)
	if after.Up {
		measured["run id"] = after.RunID
		measured["keys"] = strconv.Itoa(len(after.Keys))
	}
	another := after.Up && after.RunID != earlier
	// A stopped node may be up again: a supervisor can be faster than the look.
	shown := another && kept || !after.Up && !starts
	n.recordInstant(f, target, history.Asked{}, proof{measured: measured, effective: shown})
	n.RecordNode(target, after)
	return earlier, nil
}

// stop stops a node, and waits for its supervisor, if it has one.
func (n *Nemesis) stop(ctx context.Context, f Fault, target string,
	how func(cluster.Node, context.Context) error) error {
	earlier, err := n.stopOrStart(ctx, f, target,
		func(node cluster.Node, _ map[string]string) error { return how(node, ctx) })
	if err != nil {
		return err
	}
	return n.awaitSupervisor(ctx, target, earlier)
}

// paused lists the active faults that pause a target.
func (n *Nemesis) paused(target string) []*Active {
	return n.activeWhere(func(a *Active) bool { return a.Target == target && n.class(a.fault.Kind, target).Pauses() })
}

// endWithProcess records the end of faults that end with their target's process.
func (n *Nemesis) endWithProcess(target, by string) {
	for _, a := range n.activeWhere(func(a *Active) bool { return a.Target == target }) {
		if d := Find(a.fault.Kind); d.endsWithProcess != "" && n.remove(a) {
			n.recordFault(a.id, a.fault, history.PhaseEnd, target, a.asked, proof{effective: true,
				measured: map[string]string{d.endsWithProcess: n.lasted(a).String(), "ended by": by}})
		}
	}
}

// awaitSupervisor waits until a node's supervisor, if it has one, has restarted it, and records a start. The proof is a
// new run ID.
func (n *Nemesis) awaitSupervisor(ctx context.Context, target, earlier string) error {
	node, err := n.node(target)
	if err != nil {
		return err
	}
	s, ok := node.(cluster.Server)
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
		"state": stateName(seen.Up), "run id": seen.RunID, "keys": strconv.Itoa(len(seen.Keys))}
	n.recordInstant(Fault{Kind: Start, startedAfter: began}, node.Name(), history.Asked{},
		proof{measured: measured, effective: seen.Up && seen.RunID != earlier})
	n.RecordNode(node.Name(), seen)
	return nil
}

func stateName(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// restartNodes starts the nodes of a drawn fault, unless a supervisor has restarted them.
func (n *Nemesis) restartNodes(ctx context.Context, f Fault) error {
	for _, target := range f.Targets {
		if s, ok := n.cluster.Node(target).(cluster.Server); ok {
			if seen, err := s.Look(ctx); err != nil || seen.Up {
				return err
			}
		}
		if _, err := n.Apply(ctx, Fault{Kind: Start, Targets: []string{target}}); err != nil {
			return err
		}
	}
	return nil
}

// Inspect looks into a node and records the result.
func (n *Nemesis) Inspect(ctx context.Context, name string) (history.Node, error) {
	node, err := n.node(name)
	if err != nil || n.isOccupied(name) {
		return history.Node{}, err
	}
	seen, err := node.Look(ctx)
	if err == nil {
		n.RecordNode(name, seen)
	}
	return seen, err
}

// RecordNode records a look into a node.
func (n *Nemesis) RecordNode(name string, seen history.Node) {
	if seen.Up {
		n.mu.Lock()
		n.runIDs[name] = seen.RunID
		n.mu.Unlock()
	}
	n.record(history.Event{Time: n.cluster.Now(), Process: name, Type: history.TypeNode, Node: &seen})
}

// lastRunID is a node's last observed run ID.
func (n *Nemesis) lastRunID(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runIDs[name]
}
