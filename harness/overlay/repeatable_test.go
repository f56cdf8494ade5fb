//go:build repeatable

package overlay_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/overlay"
)

// drawn returns the random choices in a bubble: numbers, the order of a map, a select's choice, and the order of timers
// of one instant and of new goroutines.
func drawn(t *testing.T, seed uint64) string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	overlay.Seed(seed)
	var said strings.Builder
	synctest.Test(t, func(*testing.T) {
		out := make(chan string, 100)
		for i := range 8 {
			go func() {
				time.Sleep(time.Second)
				ready, other := make(chan int, 1), make(chan int, 1)
				ready <- 0
				other <- 0
				chosen := "first"
				select {
				case <-ready:
				case <-other:
					chosen = "second"
				}
				keys := ""
				for key := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4} {
					keys += key
				}
				out <- fmt.Sprint(i, rand.Uint64(), chosen, keys)
			}()
			time.AfterFunc(2*time.Second, func() { out <- fmt.Sprint("timer ", i, rand.Uint64()) })
		}
		time.Sleep(3 * time.Second)
		close(out)
		for line := range out {
			said.WriteString(line + "\n")
		}
	})
	return said.String()
}

func TestRepeatable_SameSeed_SameChoices(t *testing.T) {
	first := drawn(t, 7)
	require.Equal(t, 16, strings.Count(first, "\n"))
	for range 20 {
		require.Equal(t, first, drawn(t, 7))
	}
}

func TestRepeatable_OtherSeed_OtherChoices(t *testing.T) {
	require.NotEqual(t, drawn(t, 7), drawn(t, 8))
	require.NotEqual(t, drawn(t, 0), drawn(t, 0), "0: chance decides, as everywhere")
}
