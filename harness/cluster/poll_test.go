package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockOnly is a cluster with a true clock, which its sleeps advance.
type clockOnly struct {
	Cluster
	now int64
}

func (c *clockOnly) Now() int64 { return c.now }

func (c *clockOnly) Sleep(ctx context.Context, d time.Duration) error {
	c.now += int64(d)
	return ctx.Err()
}

func TestPoll_CallsUntilDoneOrTimeout(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	wrong := errors.New("wrong")
	for _, c := range []struct {
		name   string
		ctx    context.Context
		doneAt int // the call that is done
		err    error
		calls  int
		done   bool
		want   error
	}{
		{"done at once", t.Context(), 1, nil, 1, true, nil},
		{"done at the third call", t.Context(), 3, nil, 3, true, nil},
		{"never done", t.Context(), 0, nil, 6, false, nil},
		{"an error", t.Context(), 0, wrong, 1, false, wrong},
		{"its context ended", ended, 3, nil, 1, false, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := 0
			done, err := Poll(c.ctx, &clockOnly{}, 40*time.Millisecond, 10*time.Millisecond, func() (bool, error) {
				calls++
				return calls == c.doneAt, c.err
			})
			require.ErrorIs(t, err, c.want)
			require.Equal(t, c.done, done)
			require.Equal(t, c.calls, calls)
		})
	}
}
