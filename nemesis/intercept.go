package nemesis

import (
	"context"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// intercept holds, loses or drops single commands or their replies. The proof is the number of affected messages.
func (n *Nemesis) intercept(f Fault, target string, action cluster.Action) (*Active, error) {
	l, err := n.link(target)
	if err != nil {
		return nil, err
	}
	affected, err := l.Intercept(cluster.Intercept{Command: f.Command, Part: f.Part, Action: action, Times: f.Count})
	if err != nil {
		return nil, err
	}
	end := func(ctx context.Context) (proof, error) {
		if _, err := l.LetGo(); err != nil {
			return proof{}, err
		}
		done := affected()
		proof := proof{measured: map[string]string{"messages": strconv.Itoa(done.Messages)}, effective: done.Messages > 0,
			affected: &done.Messages, sentAt: n.sendTimes(done.First)}
		// LetGo also ended the link's other intercepts.
		return proof, n.endFaults(ctx, n.activeOn(target, kindsEndedBy(LetGo)...))
	}
	asked := history.Asked{Command: f.Command, Part: f.Part, Times: max(f.Count, 1)}
	a := &Active{Target: target, fault: f, asked: asked, end: end}
	return n.begin(a, proof{effective: true}), nil
}
