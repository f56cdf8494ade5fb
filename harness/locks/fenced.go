package locks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockproof/harness/history"
)

func init() {
	register(Kind{
		Name:    "redlock-fenced",
		Doc:     "the reference with fencing tokens that the lock's own nodes issue, claimed on a majority",
		New:     newFenced,
		Fencing: true, OwnClock: true, Rules: true, Extends: true,
	})
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

// fenced is Redlock that hands out a fencing token with each lease. Kleppmann
// (2016) says that Redlock has no way to make such tokens; this is one, under
// the same assumptions as the lock: that nodes remember.
//
// The counter of a key is kept on every node. A client that was granted the
// lock reads it on a majority, proposes the highest plus one, and claims it on
// a majority, where a node accepts only what is higher than what it has. Any
// two majorities share a node, so a token is claimed once, and a later grant
// reads every earlier claim and goes beyond it.
type fenced struct {
	*reference
	nodes   []*redis.Client
	timeout time.Duration
	pending sync.WaitGroup // commands that no caller waits for any more
}

func newFenced(env Env) (Lock, error) {
	lock, err := newReference(env)
	if err != nil {
		return nil, err
	}
	return &fenced{reference: lock, nodes: env.Nodes, timeout: env.NodeTimeout}, nil
}

func (f *fenced) Acquire(ctx context.Context, key string) (Lease, error) {
	lease, err := f.reference.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	token, err := f.token(ctx, key)
	if err == nil && lease.Validity() <= 0 {
		err = &Error{Reason: history.ReasonTooLate, Err: errors.New("the lease was over before its fencing token was claimed")}
	}
	if err != nil {
		f.giveBack(ctx, lease)
		return nil, err
	}
	return &fencedLease{lease, token}, nil
}

// giveBack releases a lease that came without a token. It does not ask the
// caller's context, which may be what has ended.
func (f *fenced) giveBack(ctx context.Context, lease Lease) {
	f.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.ttl)
		defer cancel()
		// A key that cannot be deleted expires: nothing is lost but time.
		_ = lease.Release(ctx)
	})
}

func (f *fenced) token(ctx context.Context, key string) (int64, error) {
	counter := "fence:" + key
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
	return 0, &Error{Reason: history.ReasonOther,
		Err: fmt.Errorf("no fencing token for %s in %d tries: others keep claiming them", key, fenceTries)}
}

// highest reads the counter on a majority.
func (f *fenced) highest(ctx context.Context, counter string) (int64, error) {
	answers, err := f.majority(ctx, "read "+counter, func(ctx context.Context, node *redis.Client) (int64, error) {
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
	answers, err := f.majority(ctx, "claim "+counter, func(ctx context.Context, node *redis.Client) (int64, error) {
		return fenceClaim.Run(ctx, node, []string{counter}, token).Int64()
	})
	for _, accepted := range answers {
		if accepted == 0 {
			return false, err
		}
	}
	return err == nil, err
}

// majority asks every node at once and returns the first N/2+1 answers. The
// other nodes are heard in the background: Close waits for them.
func (f *fenced) majority(ctx context.Context, what string, ask func(context.Context, *redis.Client) (int64, error)) ([]int64, error) {
	type answer struct {
		value int64
		err   error
	}
	heard := make(chan answer, len(f.nodes))
	for _, node := range f.nodes {
		f.pending.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, f.timeout)
			defer cancel()
			value, err := ask(ctx, node)
			heard <- answer{value, err}
		})
	}
	var values []int64
	var causes []error
	need := len(f.nodes)/2 + 1
	for range f.nodes {
		a := <-heard
		if a.err != nil {
			causes = append(causes, a.err)
			continue
		}
		if values = append(values, a.value); len(values) == need {
			return values, nil
		}
	}
	reason := history.ReasonNoMajority
	if ctx.Err() != nil {
		reason = history.ReasonCancelled
	}
	return nil, &Error{Reason: reason, Err: fmt.Errorf("%s: %d of %d nodes answered, %d are needed: %w",
		what, len(values), len(f.nodes), need, errors.Join(causes...))}
}

func (f *fenced) Close() error {
	f.pending.Wait()
	return f.reference.Close()
}

type fencedLease struct {
	*referenceLease
	fence int64
}

func (l *fencedLease) Fence() int64 { return l.fence }
