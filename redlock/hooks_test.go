package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// told keeps what hooks are told.
type told struct {
	mu       sync.Mutex
	started  []Operation
	outcomes []Outcome
	answers  []Answer
	late     []Answer
}

type toldKey struct{}

// hooks are those that keep it. They want the context that Start has made.
func (k *told) hooks(t *testing.T) Hooks {
	locked := func(ctx context.Context, do func()) {
		if ctx.Value(toldKey{}) != k {
			t.Error("it is not the operation's context")
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		do()
	}
	return Hooks{
		Start: func(ctx context.Context, op Operation) context.Context {
			ctx = context.WithValue(ctx, toldKey{}, k)
			locked(ctx, func() { k.started = append(k.started, op) })
			return ctx
		},
		Done:         func(ctx context.Context, o Outcome) { locked(ctx, func() { k.outcomes = append(k.outcomes, o) }) },
		Answered:     func(ctx context.Context, a Answer) { locked(ctx, func() { k.answers = append(k.answers, a) }) },
		ReleasedLate: func(ctx context.Context, a Answer) { locked(ctx, func() { k.late = append(k.late, a) }) },
	}
}

// votes counts answers to an operation, as in "4 yes, 0 no, 1 failed".
func (k *told) votes(operation string) string {
	counts := map[string]int{}
	for _, a := range k.answers {
		if a.Name == operation {
			counts[a.Vote]++
		}
	}
	return fmt.Sprintf("%d yes, %d no, %d failed", counts[VoteYes], counts[VoteNo], counts[VoteFailed])
}

func TestHooksAreToldEachOperation(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		var k told
		u := c.user(1, WithHooks(k.hooks(t)), WithHooks(Hooks{}))
		c.occupy("another", 1)
		u.each((*link).cut, 2)
		l := u.must(t)
		time.Sleep(ttl / 4)
		require.NoError(t, l.Extend(t.Context()))
		synctest.Wait()
		require.NoError(t, l.Release(t.Context()))
		require.ErrorIs(t, l.Release(t.Context()), ErrReleased)
		time.Sleep(ttl)
		k.mu.Lock()
		defer k.mu.Unlock()
		acquire, extend, release := Operation{"acquire", key, ttl}, Operation{"extend", key, ttl}, Operation{"release", key, ttl}
		require.Equal(t, []Operation{acquire, extend, release, release}, k.started)
		require.Equal(t, Outcome{Operation: acquire, Tries: 1, Validity: ttl - u.margin(ttl)}, k.outcomes[0])
		require.Equal(t, Outcome{Operation: extend, Tries: 1, Validity: ttl - u.margin(ttl)}, k.outcomes[1])
		require.Equal(t, Outcome{Operation: release, Tries: 1}, k.outcomes[2])
		require.ErrorIs(t, k.outcomes[3].Err, ErrReleased)
		require.Equal(t, "3 yes, 1 no, 1 failed", k.votes("acquire"))
		require.Equal(t, "3 yes, 1 no, 1 failed", k.votes("extend"))
		require.Equal(t, "3 yes, 1 no, 1 failed", k.votes("release"))
		i := slices.IndexFunc(k.answers, func(a Answer) bool { return a.Vote == VoteFailed })
		require.Equal(t, 1, k.answers[i].Node)
		require.Equal(t, "n2:6379", k.answers[i].Addr)
		require.Error(t, k.answers[i].Err)
	})
}

// An acquire that fails tells its attempts, and for how long it went on.
func TestHooksAreToldOfWaits(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var k told
		u := c.user(1, WithHooks(k.hooks(t)), WithTries(3), WithRetryDelay(time.Second, time.Second))
		c.occupy("another", 1, 2)
		_, err := u.Acquire(t.Context(), key, ttl)
		require.ErrorIs(t, err, ErrHeld)
		require.Equal(t, Outcome{Operation: Operation{"acquire", key, ttl}, Took: 2 * time.Second, Tries: 3, Err: err}, k.outcomes[0])
		_, err = u.Acquire(t.Context(), "", ttl)
		require.Error(t, err)
		require.Len(t, k.started, 1, "arguments that cannot be are no operation")
	})
}

// A node that answers late is told of when it does, and its release after that.
func TestHooksAreToldWhatIsLate(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var k told
		u := c.user(1, WithHooks(k.hooks(t)))
		u.warmUp(t)
		time.Sleep(ttl)
		u.each(func(l *link) { l.onReply(slow("set", ttl/2)) }, 3)
		l, err := u.TryAcquire(t.Context(), key, ttl)
		require.NoError(t, err)
		require.NoError(t, l.Release(t.Context()))
		time.Sleep(ttl)
		k.mu.Lock()
		defer k.mu.Unlock()
		i := slices.IndexFunc(k.answers, func(a Answer) bool { return a.Name == "acquire" && a.Node == 2 && a.Key == key })
		require.Equal(t, VoteYes, k.answers[i].Vote)
		require.Equal(t, ttl/2, k.answers[i].Took)
		require.NotEmpty(t, k.late)
		for _, a := range k.late {
			require.Equal(t, 2, a.Node)
			require.Zero(t, a.Took, "no node is slow to delete")
			require.Equal(t, Operation{"release", key, ttl}, a.Operation)
		}
	})
}
