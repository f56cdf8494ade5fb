package nemesis

import (
	"context"
	"errors"
	"time"

	"lockproof/harness/history"
)

// pause stops a client or a node where it stands. The proof is that it said
// nothing in the meantime: a client's last event is older than the pause, and a
// look into a node finds it standing still until it is carried on.
func (n *Nemesis) pause(ctx context.Context, f Fault, target string) (*Active, error) {
	if len(n.on(target, Pause)) > 0 {
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
	a.end = func(ctx context.Context) (proof, error) {
		stopped := time.Duration(n.cluster.Now() - a.began)
		still, err := s.still(ctx, a.began)
		if err == nil {
			err = s.carryOn(ctx)
		}
		if err != nil {
			return proof{}, err
		}
		awake, err := s.awake(ctx)
		return proof{map[string]string{"stopped for": stopped.String(), "state": state(still)}, still && awake}, err
	}
	still, err := s.still(ctx, n.cluster.Now())
	if err != nil {
		return nil, errors.Join(err, s.carryOn(ctx))
	}
	return n.begin(a, proof{map[string]string{"state": state(still)}, still}), nil
}

func state(still bool) string {
	return map[bool]string{true: "stopped", false: "running"}[still]
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

// cutShort ends the record of a fault of a process that has ended in it: there is
// nothing left to carry on.
func (n *Nemesis) cutShort(a *Active, by Kind) {
	if n.forget(a) {
		lasted := map[Kind]string{Pause: "stopped for", Rewrite: "lasted"}[a.fault.Kind]
		n.write(a.id, a.fault, history.PhaseEnd, a.Target, a.asked,
			proof{map[string]string{lasted: time.Duration(n.cluster.Now() - a.began).String(), "ended by": string(by)}, true})
	}
}
