package locks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"example.org/lockproof/harness/history"
)

// Retry makes attempts until one succeeds, the tries are used up or ctx ends, with a random delay after each failure.
func Retry(ctx context.Context, env Env, attempt func() (Lease, error)) (Lease, error) {
	for n := 1; ; n++ {
		lease, err := attempt()
		if err == nil {
			return lease, nil
		}
		if ctx.Err() != nil {
			return nil, cancelled(ctx, err)
		}
		if n == env.Tries {
			return nil, err
		}
		delay, drawn := RandomBetween(env.Rand, env.RetryMin, env.RetryMax)
		if drawn != nil {
			return nil, drawn
		}
		if !Sleep(ctx, env, delay) {
			return nil, cancelled(ctx, err)
		}
	}
}

// Sleep waits on the client's own clock. It reports whether the time passed before ctx ended.
func Sleep(ctx context.Context, env Env, d time.Duration) bool {
	timer := env.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

func cancelled(ctx context.Context, last error) error {
	return &Error{Reason: history.ReasonCancelled,
		Err: fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), last)}
}

// Seeded returns a source of bytes that two numbers determine. It is safe for concurrent use.
func Seeded(seed, index uint64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], index)
	return &seededReader{source: rand.NewChaCha8(key)}
}

type seededReader struct {
	mu     sync.Mutex
	source *rand.ChaCha8
}

func (r *seededReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Read(b)
}

// RandomBetween draws a duration uniformly from low to high.
func RandomBetween(random io.Reader, low, high time.Duration) (time.Duration, error) {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 0, fmt.Errorf("draw a retry delay: %w", err)
	}
	return low + time.Duration(binary.LittleEndian.Uint64(b[:])%uint64(high-low+1)), nil
}

// CallFailed is the error of a command without a reply.
func CallFailed(ctx context.Context, what string, err error) error {
	reason := history.ReasonNoMajority
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		reason = history.ReasonCancelled
	}
	return &Error{Reason: reason, Err: fmt.Errorf("%s: %w", what, err)}
}
