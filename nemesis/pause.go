package nemesis

import (
	"context"
	"errors"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// Pause is SIGSTOP, of a client or a node.
const Pause = "pause"

var _ = declare(&Declaration{
	Kind: Pause, Doc: "SIGSTOP",
	Node: &Effect{Class: history.NodePaused}, Client: &Effect{Class: history.ClientPaused},
	Optional: []string{"for"},
	Draw:     &Draw{Required: []string{"for"}},
	EndedBy:  Resume,
	Met: "messages that clients sent to the node meanwhile; of a client not counted: " +
		"the checker looks for an operation or a lease of its own",
	Words: Words{
		ToDo: order("pause %s (SIGSTOP)"), Begun: becomes("paused (SIGSTOP)"),
		Over: func(f history.Fault) string {
			return runOn(f) + wording.Behind(" after a pause of ", wording.Readable(f.Measured["stopped for"]))
		},
		Was: "was paused",
	},
	apply: (*Nemesis).pause, dies: "stopped for",
})

// pause stops a client or a node where it stands. The proof is that it said
// nothing in the meantime: a client's last event is older than the pause, and a
// look into a node finds it standing still until it is carried on.
func (n *Nemesis) pause(ctx context.Context, f Fault, target string) (*Active, error) {
	if len(n.paused(target)) > 0 {
		return nil, errors.New("it is paused already")
	}
	s, err := n.standstill(target)
	if err != nil {
		return nil, err
	}
	if err := s.stop(ctx); err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f}
	sent := n.sentTo(target)
	a.end = func(ctx context.Context) (proof, error) {
		stopped := time.Duration(n.cluster.Now() - a.began)
		met := sent()
		still, err := s.still(ctx, a.began)
		if err == nil {
			err = s.carryOn(ctx)
		}
		if err != nil {
			return proof{}, err
		}
		awake, err := s.awake(ctx)
		measured := map[string]string{"stopped for": stopped.String(), "state": state(still)}
		return proof{measured: measured, effective: still && awake, met: met}, err
	}
	still, err := s.still(ctx, n.cluster.Now())
	if err != nil {
		return nil, errors.Join(err, s.carryOn(ctx))
	}
	return n.begin(a, proof{measured: map[string]string{"state": state(still)}, effective: still}), nil
}

// sentTo counts the messages that clients send to a node from now on. It gives nil
// for a client, which may wake to work that nobody has sent it.
func (n *Nemesis) sentTo(target string) func() *int {
	if n.names[target] {
		return func() *int { return nil }
	}
	var sent []func() cluster.Traffic
	for name := range n.names {
		if l := n.cluster.Link(name, target); l != nil {
			sent = append(sent, measure(l, cluster.ToNode))
		}
	}
	return func() *int {
		messages := 0
		for _, s := range sent {
			messages += s().SetOut
		}
		return &messages
	}
}

func state(still bool) string {
	if still {
		return "stopped"
	}
	return "running"
}

// standstill is how a client or a node is stopped and carried on, and what
// shows that it stood still since some time, and that it goes again.
type standstill struct {
	stop, carryOn func(context.Context) error
	still         func(ctx context.Context, since int64) (bool, error)
	awake         func(context.Context) (bool, error)
}

func (n *Nemesis) standstill(target string) (standstill, error) {
	if n.names[target] {
		return standstill{
			stop:    func(context.Context) error { return n.clients.Pause(target) },
			carryOn: func(context.Context) error { return n.clients.Resume(target) },
			still: func(_ context.Context, since int64) (bool, error) {
				return n.clients.LastWord(target) <= since, nil
			},
			// It need not have anything to say.
			awake: func(context.Context) (bool, error) { return true, nil },
		}, nil
	}
	node, err := n.node(target)
	if err != nil {
		return standstill{}, err
	}
	up := func(ctx context.Context) (bool, error) {
		seen, err := node.Look(ctx)
		return seen.Up, err
	}
	return standstill{
		stop:    node.Pause,
		carryOn: node.Resume,
		still: func(ctx context.Context, _ int64) (bool, error) {
			up, err := up(ctx)
			return !up, err
		},
		awake: up,
	}, nil
}
