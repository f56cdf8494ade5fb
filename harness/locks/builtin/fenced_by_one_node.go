package builtin

import (
	"context"

	"example.org/lockproof/harness/locks"
)

func init() {
	locks.Register(locks.Kind{
		Name:    "redlock-fenced-by-one-node",
		Doc:     "Redlock with fencing tokens that one node counts: whoever wipes that node starts again at 1",
		New:     newFencedByOneNode,
		Fencing: true, OwnClock: true, Rules: true, Majority: true, Extends: true, Watches: true,
	})
}

// newFencedByOneNode makes the lock that Kleppmann (2016) foresees: "Simply
// keeping a counter on one Redis node would not be sufficient, because that
// node may fail."
func newFencedByOneNode(env locks.Env) (locks.Lock, error) {
	f, err := newFenced(env)
	if err != nil {
		return nil, err
	}
	f.issue = f.countOnFirst
	return f, nil
}

func (f *fenced) countOnFirst(ctx context.Context, key, _ string) (int64, error) {
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	n, err := f.nodes[0].Incr(bounded, counterKey(key)).Result()
	if err != nil {
		return 0, locks.CallFailed(ctx, "count "+counterKey(key), err)
	}
	return n, nil
}
