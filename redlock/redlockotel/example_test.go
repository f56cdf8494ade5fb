package redlockotel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"lockproof/redlock"
	"lockproof/redlock/redlockotel"
)

// Measure a lock. Without options the hooks use the global providers.
func Example() {
	reader := sdkmetric.NewManualReader() // in production an exporter
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	hooks, err := redlockotel.Hooks(redlockotel.WithMeterProvider(meters))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	lock, err := redlock.New([]redis.UniversalClient{client}, redlock.WithHooks(hooks), redlock.WithNodeTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if lease, err := lock.Acquire(ctx, "invoice-42", 10*time.Second); err == nil {
		fmt.Println("released:", lease.Release(ctx) == nil)
	}
	lock.Close() // by now all answers are counted

	var measured metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &measured); err != nil {
		fmt.Println(err)
	}
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
