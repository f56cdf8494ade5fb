package builtin

import (
	"context"

	"example.org/lockproof/harness/locks"
)

func init() {
	fencedBy("redlock-fenced-by-one-node",
		"Redlock with fencing tokens that one node counts: whoever wipes that node starts again at 1",
		(*fenced).countOnFirst)
}

// countOnFirst makes the lock that Kleppmann (2016) foresees: "Simply
// keeping a counter on one Redis node would not be sufficient, because that
// node may fail."
func (f *fenced) countOnFirst(ctx context.Context, key, _ string) (int64, error) {
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	n, err := f.nodes[0].Incr(bounded, counterKey(key)).Result()
	if err != nil {
		return 0, locks.CallFailed(ctx, "count "+counterKey(key), err)
	}
	return n, nil
}
