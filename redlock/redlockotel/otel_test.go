package redlockotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/redlockotel"
	"example.org/lockproof/redlock/server"
)

const ttl = time.Minute

// observed is a lock on servers in memory whose telemetry is kept.
type observed struct {
	*redlockotel.Lock
	servers []*miniredis.Miniredis
	spans   *tracetest.InMemoryExporter
	reader  *sdkmetric.ManualReader
	tracers *sdktrace.TracerProvider
}

func observe(t *testing.T) *observed {
	o := &observed{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	o.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(o.spans))
	observer, err := redlockotel.New(redlockotel.WithTracerProvider(o.tracers),
		redlockotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader))))
	require.NoError(t, err)
	var clients []redis.UniversalClient
	for range 3 {
		m := miniredis.RunT(t)
		client := redis.NewClient(&redis.Options{Addr: m.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		o.servers, clients = append(o.servers, m), append(clients, client)
	}
	nodes, err := server.Nodes(clients, observer.Nodes)
	require.NoError(t, err)
	lock, err := redlock.New(nodes, redlock.Options{NodeTimeout: 10 * time.Second})
	require.NoError(t, err)
	o.Lock = observer.Lock(lock)
	return o
}

// metrics closes the lock, so that all answers are counted. It returns the measurements by name: "a=b c=d: count" for
// each set of attributes. A histogram counts its values.
func (o *observed) metrics(t *testing.T) map[string][]string {
	require.NoError(t, o.Close())
	return o.collect(t)
}

// awaitVotes waits for the votes on an operation, which returns at a majority.
func (o *observed) awaitVotes(t *testing.T, operation string, votes int) {
	require.Eventually(t, func() bool {
		sum := 0
		for _, line := range o.collect(t)[redlockotel.Votes] {
			if !strings.Contains(line, "operation="+operation+",") {
				continue
			}
			var n int
			_, err := fmt.Sscanf(line[strings.LastIndex(line, ": "):], ": %d", &n)
			require.NoError(t, err)
			sum += n
		}
		return sum == votes
	}, time.Minute, time.Millisecond)
}

func (o *observed) collect(t *testing.T) map[string][]string {
	var all metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(t.Context(), &all))
	found := map[string][]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, n any) {
				line := set.Encoded(attribute.DefaultEncoder())
				found[m.Name] = append(found[m.Name], fmt.Sprintf("%s: %v", strings.ReplaceAll(line, "redlock.", ""), n))
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Count)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Count)
				}
			}
		}
	}
	for _, lines := range found {
		slices.Sort(lines)
	}
	return found
}

func TestObserver_MeasuresEachOperation(t *testing.T) {
	o := observe(t)
	ctx, parent := o.tracers.Tracer("test").Start(t.Context(), "work")
	lease, err := o.TryAcquire(ctx, "k", ttl)
	require.NoError(t, err)
	o.awaitVotes(t, "acquire", 3)
	require.NoError(t, lease.Extend(ctx))
	o.awaitVotes(t, "extend", 3)
	_, err = o.TryAcquire(ctx, "k", ttl)
	require.ErrorIs(t, err, redlock.ErrHeld)
	o.awaitVotes(t, "acquire", 6) // else its SET may reach a node when the key is released there
	require.NoError(t, lease.Release(ctx))
	require.ErrorIs(t, lease.Release(ctx), redlock.ErrReleased)
	parent.End()
	measured := o.metrics(t)
	require.Equal(t, []string{
		"operation=acquire,outcome=held: 1", "operation=acquire,outcome=ok: 1", "operation=extend,outcome=ok: 1",
		"operation=release,outcome=ok: 1", "operation=release,outcome=released: 1",
	}, measured[redlockotel.Duration])
	require.Equal(t, []string{"operation=acquire,outcome=held: 1", "operation=acquire,outcome=ok: 1"},
		measured[redlockotel.Attempts])
	require.Equal(t, []string{"operation=acquire: 1", "operation=extend: 1"}, measured[redlockotel.Validity])
	for i, s := range o.servers {
		for _, votes := range []string{"node=%d,operation=acquire,vote=no,server.address=%s: 1",
			"node=%d,operation=acquire,vote=yes,server.address=%s: 1",
			"node=%d,operation=extend,vote=yes,server.address=%s: 1"} {
			require.Contains(t, measured[redlockotel.Votes], fmt.Sprintf(votes, i, s.Addr()))
		}
	}

	spans := o.spans.GetSpans()
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
		if s.Name == "work" {
			continue
		}
		require.Equal(t, parent.SpanContext().SpanID(), s.Parent.SpanID(), s.Name)
		require.Contains(t, s.Attributes, attribute.String("redlock.key", "k"))
		require.Contains(t, s.Attributes, attribute.Float64("redlock.ttl", 60))
		require.Equal(t, codes.Unset, s.Status.Code, "held and released are not errors")
	}
	require.Equal(t, []string{"redlock.acquire", "redlock.extend", "redlock.acquire", "redlock.release", "redlock.release",
		"work"}, names)
	require.Contains(t, spans[0].Attributes, attribute.String("redlock.outcome", "ok"))
	require.Contains(t, spans[0].Attributes, attribute.Int("redlock.attempts", 1))
	require.Contains(t, spans[2].Attributes, attribute.String("redlock.outcome", "held"))
}

func TestObserver_NoMajority_IsAnErrorOfTheSpan(t *testing.T) {
	o := observe(t)
	o.servers[0].Close()
	o.servers[1].Close()
	_, err := o.TryAcquire(t.Context(), "k", ttl)
	require.ErrorIs(t, err, redlock.ErrNoMajority)
	span := o.spans.GetSpans()[0]
	require.Equal(t, codes.Error, span.Status.Code)
	require.Equal(t, "no_majority", span.Status.Description)
	require.Len(t, span.Events, 1, "the error, with each node's cause")
	measured := o.metrics(t)
	require.Equal(t, []string{"operation=acquire,outcome=no_majority: 1"}, measured[redlockotel.Duration])
	require.Empty(t, measured[redlockotel.Validity])
}

func TestObserver_CallerGivesUp_IsCancelled(t *testing.T) {
	o := observe(t)
	lease, err := o.TryAcquire(t.Context(), "k", ttl)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("shutting down")) })
	_, err = o.Acquire(ctx, "k", ttl)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, lease.Release(t.Context()))
	require.Contains(t, o.metrics(t)[redlockotel.Duration], "operation=acquire,outcome=cancelled: 1")
}
