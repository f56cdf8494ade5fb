package builtin

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func init() {
	fencedBy(locks.Fenced,
		"the reference with fencing tokens that the lock's own nodes issue, claimed on a majority",
		(*fenced).claimNext)
}

// fenceTries bounds how often one acquire proposes a token. More than one is
// needed only while an older client, whose lease is over, still claims one.
const fenceTries = 5

// fenceClaim stores a token unless the counter is there already or beyond.
// KEYS: the counter. ARGV: the token.
var fenceClaim = redis.NewScript(`
local seen = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) <= seen then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

// claimNext makes the fenced lock that is right. Kleppmann (2016) says that
// Redlock has no way to make such tokens; this is one, under the same
// assumptions as the lock: that nodes remember.
//
// The counter of a key is kept on every node. A client that was granted the
// lock reads it on a majority, proposes the highest plus one, and claims it on
// a majority, where a node accepts only what is higher than what it has. Any
// two majorities share a node, so a token is claimed once, and a later grant
// reads every earlier claim and goes beyond it.
func (f *fenced) claimNext(ctx context.Context, key, _ string) (int64, error) {
	counter := counterKey(key)
	for range fenceTries {
		seen, err := f.highest(ctx, counter)
		if err != nil {
			return 0, err
		}
		claimed, err := f.claim(ctx, counter, seen+1)
		if err != nil {
			return 0, err
		}
		if claimed {
			return seen + 1, nil
		}
	}
	return 0, &locks.Error{Reason: history.ReasonOther,
		Err: fmt.Errorf("no fencing token for %s in %d tries: others keep claiming them", key, fenceTries)}
}

// highest reads the counter on a majority.
func (f *fenced) highest(ctx context.Context, counter string) (int64, error) {
	answers, err := f.queryMajority(ctx, "read "+counter,
		func(ctx context.Context, node redis.UniversalClient) (int64, error) {
			n, err := node.Get(ctx, counter).Int64()
			if errors.Is(err, redis.Nil) {
				return 0, nil
			}
			return n, err
		})
	var highest int64
	for _, n := range answers {
		highest = max(highest, n)
	}
	return highest, err
}

// claim reports whether a majority accepted the token. Fewer than a majority
// may: the token is then used up, and the next proposal goes beyond it.
func (f *fenced) claim(ctx context.Context, counter string, token int64) (bool, error) {
	answers, err := f.queryMajority(ctx, "claim "+counter,
		func(ctx context.Context, node redis.UniversalClient) (int64, error) {
			return fenceClaim.Run(ctx, node, []string{counter}, token).Int64()
		})
	for _, accepted := range answers {
		if accepted == 0 {
			return false, err
		}
	}
	return err == nil, err
}
