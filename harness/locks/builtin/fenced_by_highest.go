package builtin

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

func init() {
	fencedBy("redlock-fenced-by-highest",
		"Redlock with the highest count of a majority as fencing token, which is not written back: counts diverge",
		(*fenced).countOnEach)
}

// countOnEach makes the mistake that Kleppmann (2016) foresees:
// "Keeping counters on several nodes would mean they would go out of sync."
// Every node counts its own grants, and the highest count of a majority becomes the token. Only one node has that
// count: the next majority may lack that node, and count less.
func (f *fenced) countOnEach(ctx context.Context, key, _ string) (int64, error) {
	counter := counterKey(key)
	counts, err := f.queryMajority(ctx, "count "+counter,
		func(ctx context.Context, node redis.UniversalClient) (int64, error) {
			return node.Incr(ctx, counter).Result()
		})
	if err != nil {
		return 0, err
	}
	return slices.Max(counts), nil
}
