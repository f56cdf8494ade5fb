package nemesis

import (
	"context"
	"errors"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Pause sends SIGSTOP to a client or a node.
const Pause = "pause"

var _ = declare(&Declaration{
	Kind: Pause, Doc: "SIGSTOP",
	Node: &Effect{Class: history.NodePaused}, Client: &Effect{Class: history.ClientPaused},
	Optional: []string{"each-message", "for"},
	Check:    checkEachMessage,
	Draw:     &Draw{Required: []string{"for"}},
	EndedBy:  Resume,
	Words: Words{
		Instruction: instructionFor("pause %s (SIGSTOP)"), Begin: passiveText("paused (SIGSTOP)"),
		End: func(f history.Fault) string {
			return resumeText(f) + wording.Prefix(" after a pause of ", wording.Readable(f.Measured["stopped for"]))
		},
		Past: "was paused",
	},
	apply: (*Nemesis).pause, endsWithProcess: "stopped for",
})

// eachMessage is the modifier of a fault that begins at a message of its client's next operation.
const eachMessage = "each-message"

// checkEachMessage refuses it without a client.
func checkEachMessage(u Use) []Misuse {
	if !u.Modifiers[eachMessage] || len(u.Clients) > 0 {
		return nil
	}
	return []Misuse{{eachMessage, "a node has no operation to interrupt", "name a client, for example c1"}}
}

// pause stops a client or a node. The proof for a client is that its last event is older than the pause; for a node,
// that looks find it stopped until it resumes.
func (n *Nemesis) pause(ctx context.Context, f Fault, target string) (*Active, error) {
	if len(n.paused(target)) > 0 {
		return nil, errors.New("already paused")
	}
	s, err := n.pauseControl(target)
	if err != nil {
		return nil, err
	}
	if err := s.stop(ctx); err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f}
	sent := n.countSent(target)
	a.end = func(ctx context.Context) (proof, error) {
		stopped := n.lasted(a)
		affected := sent()
		still, _, err := s.observe(ctx, a.began)
		if err == nil {
			err = s.resume(ctx)
		}
		if err != nil {
			return proof{}, err
		}
		_, awake, err := s.observe(ctx, a.began)
		measured := map[string]string{"stopped for": stopped.String(), "state": pauseState(still)}
		return proof{measured: measured, effective: still && awake, affected: affected}, err
	}
	still, _, err := s.observe(ctx, n.cluster.Now())
	if err != nil {
		return nil, errors.Join(err, s.resume(ctx))
	}
	return n.begin(a, proof{measured: map[string]string{"state": pauseState(still)}, effective: still}), nil
}

// countSent counts the messages that clients send to a node from now on. For a client it returns nil, because a client
// also works without messages.
func (n *Nemesis) countSent(target string) func() *int {
	if n.clientNames[target] {
		return func() *int { return nil }
	}
	var sent []func() cluster.Traffic
	for name := range n.clientNames {
		if l := n.cluster.Link(name, target); l != nil {
			sent = append(sent, l.Measure(history.ToNode))
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

func pauseState(still bool) string {
	if still {
		return "stopped"
	}
	return "running"
}

// pauseControl stops and resumes a client or a node, and observes whether it has been stopped since a time, and whether
// it may be running.
type pauseControl struct {
	stop, resume func(context.Context) error
	observe      func(ctx context.Context, since int64) (stopped, running bool, err error)
}

func (n *Nemesis) pauseControl(target string) (pauseControl, error) {
	if n.clientNames[target] {
		return pauseControl{
			stop:   func(context.Context) error { return n.clients.Pause(target) },
			resume: func(context.Context) error { return n.clients.Resume(target) },
			observe: func(_ context.Context, since int64) (bool, bool, error) {
				return n.clients.LastEventTime(target) <= since, true, nil // an idle client has no events
			},
		}, nil
	}
	node, err := n.node(target)
	if err != nil {
		return pauseControl{}, err
	}
	return pauseControl{stop: node.Pause, resume: node.Resume,
		observe: func(ctx context.Context, _ int64) (bool, bool, error) {
			seen, err := node.Look(ctx)
			return !seen.Up, seen.Up, err
		}}, nil
}
