// Package redlockotel gives OpenTelemetry metrics and spans of a lock of package redlock, as a wrapper of the lock
// and a decorator of its nodes:
//
//	observer, err := redlockotel.New()
//	nodes, err := server.Nodes(clients, observer.Nodes)
//	lock, err := redlock.New(nodes, redlock.Options{})
//	lease, err := observer.Lock(lock).Acquire(ctx, key, ttl)
//
// Each Acquire, Extend and Release is a span, redlock.acquire and so on, under that of its caller; the spans of
// commands, which go-redis's own instrumentation (package redisotel) makes, are under it. A lock that is held by
// another, or lost, is an outcome and no error of the span; nodes that do not answer are. No metric has the key:
// there may be any number of them. The span has it, as redlock.key.
package redlockotel
