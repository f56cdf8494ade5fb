package docker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While a project comes up, nobody begins a trial in another.
func TestAProjectIsTakenWhenNoneIsComingUp(t *testing.T) {
	small, large := &project{ports: 10}, &project{ports: 40}
	p := &Projects{idle: []*project{large, small}}
	p.coming.RLock()
	taken := make(chan *project)
	go func() {
		q, err := p.take(t.Context(), 20)
		require.NoError(t, err)
		taken <- q
	}()
	select {
	case <-taken:
		require.Fail(t, "it is taken")
	case <-time.After(50 * time.Millisecond):
	}
	p.coming.RUnlock()
	require.Same(t, large, <-taken)
	require.Equal(t, []*project{small}, p.idle)
}
