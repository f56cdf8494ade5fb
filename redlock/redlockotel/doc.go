// Package redlockotel adds OpenTelemetry metrics and spans to a lock of package redlock, as a wrapper of the lock and
// a decorator of its nodes:
//
//	observer, err := redlockotel.New()
//	nodes, err := server.Nodes(clients, observer.Nodes)
//	lock, err := redlock.New(nodes, redlock.Options{})
//	lease, err := observer.Lock(lock).Acquire(ctx, key, ttl)
//
// Each Acquire, Extend and Release is a span, redlock.acquire and so on, under its caller's span; the spans of
// commands by go-redis's own instrumentation (package redisotel) are under it. A lock that another client holds, or
// that is lost, is an outcome and not an error of the span; nodes that do not answer are an error. Only the span has
// the key, as redlock.key: for metrics there may be too many.
package redlockotel
