package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"lockproof/harness/history"
)

// life kills a client, or takes a node down or brings it back.
func (n *Nemesis) life(ctx context.Context, f Fault, target string) error {
	kind := f.Kind
	if n.names[target] {
		return n.killClient(f, target)
	}
	node := n.cluster.Node(target)
	before, err := n.look(ctx, target)
	if err != nil {
		return err
	}
	if before.Up == (kind == Start) {
		return errors.New(map[bool]string{true: "it is up already", false: "it is down already"}[before.Up])
	}
	measured := map[string]string{}
	switch kind {
	case Kill:
		err = node.Kill(ctx)
	case Shutdown:
		err = node.Shutdown(ctx)
	case PowerLoss:
		var lost int64
		lost, err = node.PowerLoss(ctx)
		measured["lost"] = strconv.FormatInt(lost, 10) + " bytes"
	case Start:
		err = node.Start(ctx)
	}
	if err != nil {
		return err
	}
	after, err := node.Look(ctx)
	if err != nil {
		return err
	}
	measured["state"] = map[bool]string{true: "up", false: "down"}[after.Up]
	if after.Up {
		measured["run id"] = after.RunID
		measured["keys"] = strconv.Itoa(len(after.Keys))
	}
	n.instant(f, target, nil, proof{measured, after.Up == (kind == Start) && after.RunID != before.RunID})
	n.saw(target, after)
	return nil
}

func (n *Nemesis) killClient(f Fault, name string) error {
	if f.Kind != Kill {
		return fmt.Errorf("a client can be killed, not %s", f.Kind)
	}
	if err := n.clients.Kill(name); err != nil {
		return err
	}
	n.instant(f, name, nil, proof{map[string]string{"state": "gone"}, true})
	return nil
}

// look looks into a node and records what it saw.
func (n *Nemesis) look(ctx context.Context, name string) (history.Node, error) {
	seen, err := n.cluster.Node(name).Look(ctx)
	if err == nil {
		n.saw(name, seen)
	}
	return seen, err
}

func (n *Nemesis) saw(name string, seen history.Node) {
	n.record(history.Event{Time: n.cluster.Now(), Process: name, Type: history.TypeNode, Node: &seen})
}
