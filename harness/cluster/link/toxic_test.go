package link

import (
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input/inputtest"
)

func quiet() *Link {
	return New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 }, Record: func(history.Event) {}})
}

// FuzzToxic gives any text for the attributes of a toxic: it is refused, or makes
// that one toxic and no other.
func FuzzToxic(f *testing.F) {
	for _, text := range []string{
		`{"latency":1}`, `{"latency":9223372036854775807}`, `{"latency":1e999}`, `{"link":"1"}`, `{"link":[]}`, "null",
		"", "[]", "{", "\xff",
		`{"latency":1},"name":"other","stream":"upstream"`, `{"latency":1},"type":"timeout","toxicity":0`, `{"latency":1}}{`,
		strings.Repeat(`{"latency":`, 100_000), `{"` + strings.Repeat("x", 1<<20) + `":1}`,
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, attributes string, ours bool) {
		kind := "latency"
		if ours {
			kind = "resp"
		}
		l := quiet()
		before := l.proxy.(*proxied).Toxics.GetToxicArray()
		var err error
		inputtest.Bounded(t, len(attributes), func() { err = l.proxy.(*proxied).addToxic("added", kind, "downstream", attributes) })
		if err != nil {
			require.Equal(t, before, l.proxy.(*proxied).Toxics.GetToxicArray())
		} else {
			require.Len(t, l.proxy.(*proxied).Toxics.GetToxicArray(), len(before)+1)
			added := l.proxy.(*proxied).Toxics.GetToxic("added")
			require.NotNil(t, added, "it has another name")
			require.Equal(t, []any{kind, stream.Downstream, float32(1)}, []any{added.Type, added.Direction, added.Toxicity})
			require.NoError(t, l.proxy.(*proxied).Toxics.RemoveToxic(t.Context(), "added"))
		}
		require.NoError(t, l.Close())
	})
}

// FuzzDelay delays a link by any time: it takes those that toxiproxy can, and is
// as it was afterwards.
func FuzzDelay(f *testing.F) {
	for _, by := range []time.Duration{0, 1, time.Millisecond, -1, 1<<63 - 1, -1 << 63, 1000 * time.Hour} {
		f.Add(int64(by))
	}
	f.Fuzz(func(t *testing.T, by int64) {
		l := quiet()
		inputtest.Bounded(t, 8, func() {
			require.NoError(t, l.Delay(cluster.ToNode, time.Duration(by)))
			if time.Duration(by) < time.Millisecond {
				require.Nil(t, l.proxy.(*proxied).Toxics.GetToxic("delay-upstream"))
				return
			}
			lag := l.proxy.(*proxied).Toxics.GetToxic("delay-upstream").Toxic.(*LagToxic).NewState().(*lag)
			require.Equal(t, time.Duration(by).Truncate(time.Millisecond), lag.by)
			require.NoError(t, l.Delay(cluster.ToNode, 0))
			require.Zero(t, lag.by)
		})
		require.NoError(t, l.Close())
	})
}
