// Package redlockotel gives OpenTelemetry metrics and spans of a lock of package
// redlock:
//
//	hooks, err := redlockotel.Hooks()
//	lock, err := redlock.New(nodes, redlock.WithHooks(hooks))
//
// Each Acquire, Extend and Release is a span, redlock.acquire and so on, under that of
// its caller; what go-redis's own instrumentation (package redisotel) tells of the
// commands is under it. A lock that is held by another, or lost, is an outcome and no
// error of the span; nodes that do not answer are.
//
// The metrics are below. None has the key: there may be any number of them. The span
// has it, as redlock.key.
//
// It is a package of its own so that who imports redlock alone compiles and links
// go-redis alone. It is no module of its own: the OpenTelemetry API is in this module's
// graph anyway, as go-redis's and Docker's clients have it there.
package redlockotel
