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

// fenced is Redlock that hands out a fencing token with each lease. The fenced
// locks differ in where their tokens come from.
type fenced struct {
	*reference
	nodes   []redis.UniversalClient
	timeout time.Duration
	issue   issuer
	pending sync.WaitGroup // commands that no caller waits for any more
}

// issuer gives the fencing token of a lease on key that owner names.
type issuer func(f *fenced, ctx context.Context, key, owner string) (int64, error)

// fencedBy registers a lock whose tokens are issued so, once it is held.
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

// counterKey is where the nodes keep the counter of a key.
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

// releaseUnfenced releases a lease that came without a token. It does not ask the
// caller's context, which may be what has ended.
func (f *fenced) releaseUnfenced(ctx context.Context, lease locks.Lease) {
	f.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.ttl)
		defer cancel()
		// A key that cannot be deleted expires: nothing is lost but time.
		_ = lease.Release(ctx)
	})
}

// queryMajority asks every node at once and returns the first N/2+1 answers. The
// other nodes are heard in the background: Close waits for them.
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
