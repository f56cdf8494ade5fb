package lock

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// BenchmarkPair is an acquire and a release of a separate key, by one caller and by 32 at a time.
func BenchmarkPair(b *testing.B) {
	servers, err := StartServers(context.Background(), 5)
	needs.Check(b, needs.Redis, err)
	b.Cleanup(func() { require.NoError(b, servers.Close()) })
	for _, callers := range []int{1, 32} {
		for _, p := range peers {
			name := strings.NewReplacer(" ", "-", ",", "").Replace(p.name)
			b.Run("peer="+name+"/callers="+strconv.Itoa(callers), func(b *testing.B) {
				benchmarkPair(b, p, servers.Addrs, callers)
			})
		}
	}
}

// inParallel runs do once for each caller, all at once.
func inParallel(callers int, do func()) {
	var all sync.WaitGroup
	for range callers {
		all.Go(do)
	}
	all.Wait()
}

func benchmarkPair(b *testing.B, p peer, addrs []string, callers int) {
	l, err := p.open(addrs)
	require.NoError(b, err)
	defer l.close()
	var keys atomic.Int64
	pair := func() {
		h, err := l.acquire(b.Context(), "k"+strconv.FormatInt(keys.Add(1), 10))
		if err == nil {
			err = h.release(b.Context())
		}
		if err != nil {
			b.Error(err)
		}
	}
	inParallel(callers, pair) // dials
	b.ReportAllocs()
	b.SetParallelism((callers + 1) / runtime.GOMAXPROCS(0))
	if callers == 1 {
		for b.Loop() {
			pair()
		}
		return
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			pair()
		}
	})
}
