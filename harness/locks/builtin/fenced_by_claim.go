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

// fenceTries bounds the proposals of one acquire. More than one is needed only while an older client, whose lease is
// over, still claims a token.
const fenceTries = 5

// fenceClaim stores a token if it exceeds the counter.
// KEYS: the counter. ARGV: the token.
var fenceClaim = redis.NewScript(`
local seen = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) <= seen then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

// claimNext makes the correct fenced lock. Kleppmann (2016) says that Redlock has no way to make such tokens; this is
// one, under the lock's own assumption that nodes remember.
//
// Every node has a counter for each key. A client with the lock reads a majority of the counters, proposes the highest
// plus one, and claims it on a majority; a node accepts only a number above its own. Any two majorities share a node,
// so a token is claimed once, and a later grant reads every earlier claim and exceeds it.
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
		Err: fmt.Errorf("no fencing token for %s in %d tries: other clients claimed each one", key, fenceTries)}
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

// claim reports whether a majority accepted the token. If fewer did, the token is used up, and the next proposal
// exceeds it.
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
