package builtin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// fenced is Redlock with a fencing token for each lease. The fenced locks differ in the source of their tokens.
type fenced struct {
	*reference
	nodes   []redis.UniversalClient
	timeout time.Duration
	issue   issuer
	pending sync.WaitGroup // commands that outlive their callers
}

// issuer returns the fencing token of owner's lease on key.
type issuer func(f *fenced, ctx context.Context, key, owner string) (int64, error)

// fencedBy registers a lock with tokens from issue, which runs after the acquire.
func fencedBy(name, doc string, issue issuer) {
	registerFenced(name, doc, func(f *fenced) locks.Lock { return f }, issue)
}

func registerFenced(name, doc string, as func(*fenced) locks.Lock, issue issuer) {
	can := redlockCan
	can.Fencing = true
	build := func(env locks.Env) (locks.Lock, error) {
		lock, err := newReference(env, 0)
		if err != nil {
			return nil, err
		}
		return as(&fenced{reference: lock, nodes: env.Nodes, timeout: env.NodeTimeout, issue: issue}), nil
	}
	locks.Register(locks.Kind{Name: name, Doc: doc, New: build, Abilities: can, Rules: true, Majority: true})
}

// counterKey is the key of a lock's counter on the nodes.
func counterKey(key string) string { return history.FencePrefix + key }

func (f *fenced) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	lease, err := f.reference.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	token, err := f.issue(f, ctx, key, lease.Token())
	if err == nil && lease.Validity() <= 0 {
		err = &locks.Error{Reason: history.ReasonTooLate,
			Err: errors.New("the lease was over before it had its fencing token")}
	}
	if err != nil {
		f.releaseUnfenced(ctx, lease)
		return nil, err
	}
	return &fencedLease{lease, token}, nil
}

// releaseUnfenced releases a lease that got no token. The caller's context may have ended, so it does not use it.
func (f *fenced) releaseUnfenced(ctx context.Context, lease locks.Lease) {
	f.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.ttl)
		defer cancel()
		// A key that is not deleted expires.
		_ = lease.Release(ctx)
	})
}

// queryMajority queries all nodes at once and returns the first N/2+1 answers. Close waits for the other nodes.
func (f *fenced) queryMajority(ctx context.Context, what string,
	ask func(context.Context, redis.UniversalClient) (int64, error)) ([]int64, error) {
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
	return nil, &locks.Error{Reason: reason, Err: fmt.Errorf("%s: %d of %d nodes answered, %d are needed: %w",
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
