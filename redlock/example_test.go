package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"lockproof/redlock"
)

// Take the lock, work under a context that ends before the lease does, and give
// the lock back.
func Example() {
	var nodes []redis.UniversalClient
	for range 3 { // three independent servers, in memory for the example
		server := miniredis.NewMiniRedis()
		if err := server.Start(); err != nil {
			fmt.Println(err)
			return
		}
		defer server.Close()
		client := redis.NewClient(&redis.Options{
			Addr:                  server.Addr(),
			ContextTimeoutEnabled: true,
			MaxRetries:            -1,
		})
		defer client.Close()
		nodes = append(nodes, client)
	}
	lock, err := redlock.New(nodes, redlock.WithNodeTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Close()

	ctx := context.Background()
	lease, err := lock.Acquire(ctx, "invoice-42", 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	work := lease.Watch(ctx)
	fmt.Println("working:", work.Err() == nil)

	_, err = lock.TryAcquire(ctx, "invoice-42", 10*time.Second)
	fmt.Println("another is kept out:", errors.Is(err, redlock.ErrHeld))

	fmt.Println("released:", lease.Release(ctx) == nil)
	<-work.Done()
	fmt.Println("work ended:", context.Cause(work))
	// Output:
	// working: true
	// another is kept out: true
	// released: true
	// work ended: the lease has been released
}

// A margin of more than half the TTL, or slow nodes, leave little time to work in.
func ExampleWithLogger() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	shown := func(_ []string, a slog.Attr) slog.Attr { // here: what is the same each time
		if a.Key == slog.TimeKey || a.Key == "validity" {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: shown}))
	lock, err := redlock.New([]redis.UniversalClient{client},
		redlock.WithLogger(logger), redlock.WithDrift(0.6), redlock.WithNodeTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Close()
	if lease, err := lock.Acquire(context.Background(), "invoice-42", 10*time.Second); err == nil {
		fmt.Println("released:", lease.Release(context.Background()) == nil)
	}
	// Output:
	// level=WARN msg="redlock: less than half of the TTL is left to work in" key=invoice-42 ttl=10s margin=6.002s
	// released: true
}

// A rule can be switched off by name, to see what it is for.
func ExampleParseRule() {
	_, err := redlock.ParseRule("Mayority")
	fmt.Println(err)
	for _, info := range redlock.Rules()[:1] {
		fmt.Println(info.Rule)
	}
	// Output:
	// redlock: no rule named "Mayority": the rules are ElapsedCheck, DriftMargin, MonotonicClock, NodeTimeout, ReleaseEverywhere, ReleaseAfterSet, FreshToken, RetryJitter, Majority, DistinctNodes, RestartGuard, CompareAndDelete, ExtendOwnership, ExtendMajority, BoundedExtensions
	// ElapsedCheck
}
