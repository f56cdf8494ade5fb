package docker

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// While a project comes up, nobody begins a trial in another.
func TestAProjectIsTakenWhenNoneIsComingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		small, large := &project{ports: 10}, &project{ports: 40}
		p := &Projects{idle: []*project{large, small}, starting: 1}
		p.started.L = &p.mu
		var taken *project
		go func() {
			q, err := p.take(t.Context(), 20)
			require.NoError(t, err)
			taken = q
		}()
		synctest.Wait()
		require.Nil(t, taken)
		require.Equal(t, []*project{small}, p.idle, "nobody else can take it")
		p.mu.Lock()
		p.starting = 0
		p.started.Broadcast()
		p.mu.Unlock()
		synctest.Wait()
		require.Same(t, large, taken)
	})
}
