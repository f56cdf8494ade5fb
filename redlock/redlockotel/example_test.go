package redlockotel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/redlockotel"
	"example.org/lockproof/redlock/server"
)

// Measure a lock. Without options the observer uses the global providers.
func Example() {
	reader := sdkmetric.NewManualReader() // in production an exporter
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	observer, _ := redlockotel.New(redlockotel.WithMeterProvider(meters))
	m := miniredis.NewMiniRedis()
	_ = m.Start()
	defer m.Close()
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	nodes, _ := server.Nodes([]redis.UniversalClient{client}, observer.Nodes)
	plain, _ := redlock.New(nodes, redlock.Options{NodeTimeout: time.Second})
	lock := observer.Lock(plain)
	ctx := context.Background()
	if lease, err := lock.Acquire(ctx, "invoice-42", 10*time.Second); err == nil {
		fmt.Println("released:", lease.Release(ctx) == nil)
	}
	lock.Close() // by now all answers are counted

	var measured metricdata.ResourceMetrics
	_ = reader.Collect(ctx, &measured)
	for _, m := range measured.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name, m.Unit)
	}
	// Unordered output:
	// released: true
	// redlock.operation.duration s
	// redlock.acquire.attempts {attempt}
	// redlock.lease.validity s
	// redlock.node.votes {vote}
	// redlock.node.duration s
}
