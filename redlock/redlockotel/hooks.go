package redlockotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"lockproof/redlock"
)

// name is that of the instrumentation.
const name = "lockproof/redlock/redlockotel"

// The metrics. All have the attribute redlock.operation, and those of operations
// redlock.outcome: see outcomes; those of nodes redlock.node, the index in the list,
// server.address, and redlock.vote: yes, no or failed.
const (
	// Duration is how long operations took, in seconds; of an acquire that is the wait.
	Duration = "redlock.operation.duration"
	// Attempts is how many attempts acquires needed.
	Attempts = "redlock.acquire.attempts"
	// Validity is what was left of leases that were granted or extended, in seconds.
	Validity = "redlock.lease.validity"
	// Votes counts what nodes answered, also those that came too late to count.
	Votes = "redlock.node.votes"
	// NodeDuration is how long nodes took to answer, in seconds.
	NodeDuration = "redlock.node.duration"
	// LateReleases counts releases of a node after the first, as it was down, or an answer was lost.
	LateReleases = "redlock.node.late_releases"
)

// outcomes are the values of redlock.outcome, by the error that each stands for, in the
// order in which they are tried; an error of none of them is "failed", none is "ok".
var outcomes = []struct {
	err  error
	name string
}{
	{redlock.ErrDuplicateNode, "duplicate_node"},
	{redlock.ErrBounded, "bounded"},
	{redlock.ErrReleased, "released"},
	{redlock.ErrLost, "lost"},
	{redlock.ErrTooLate, "too_late"},
	{redlock.ErrHeld, "held"},
	{redlock.ErrNoMajority, "no_majority"},
	{redlock.ErrClosed, "closed"},
	{context.Canceled, "cancelled"},
	{context.DeadlineExceeded, "cancelled"},
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	var attempt *redlock.AttemptError
	if errors.As(err, &attempt) && attempt.Ended != nil {
		err = attempt.Ended // whatever the attempts before it met
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	return "failed"
}

// faults are outcomes that are errors of a span: something is wrong with the nodes or
// with how the lock is used, and not only with the time.
var faults = map[string]bool{"failed": true, "no_majority": true, "too_late": true, "duplicate_node": true}

// Option sets up the hooks.
type Option func(*config)

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
}

// WithTracerProvider has spans made by p instead of the global provider.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithMeterProvider has measurements taken by p instead of the global provider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// Hooks makes the hooks for redlock.WithHooks. One may serve several locks. It fails
// where the meter does not take the metrics.
func Hooks(opts ...Option) (redlock.Hooks, error) {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, opt := range opts {
		opt(&c)
	}
	i := instruments{tracer: c.tracers.Tracer(name)}
	if err := i.make(c.meters.Meter(name)); err != nil {
		return redlock.Hooks{}, fmt.Errorf("redlockotel: %w", err)
	}
	return redlock.Hooks{Start: i.start, Done: i.done, Answered: i.answered, ReleasedLate: i.releasedLate}, nil
}

type instruments struct {
	tracer                           trace.Tracer
	duration, validity, nodeDuration metric.Float64Histogram
	attempts                         metric.Int64Histogram
	votes, late                      metric.Int64Counter
}

func (i *instruments) make(m metric.Meter) error {
	var errs [6]error
	i.duration, errs[0] = m.Float64Histogram(Duration, metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(seconds...),
		metric.WithDescription("Duration of acquires with their waits, extensions and releases"))
	i.attempts, errs[1] = m.Int64Histogram(Attempts, metric.WithUnit("{attempt}"),
		metric.WithExplicitBucketBoundaries(1, 2, 3, 5, 10, 20, 50, 100, 1000),
		metric.WithDescription("Attempts of an acquire"))
	i.validity, errs[2] = m.Float64Histogram(Validity, metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 300, 600),
		metric.WithDescription("Validity that was left of a lease as it was granted or extended"))
	i.votes, errs[3] = m.Int64Counter(Votes, metric.WithUnit("{vote}"), metric.WithDescription("Answers of nodes"))
	i.nodeDuration, errs[4] = m.Float64Histogram(NodeDuration, metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(seconds...),
		metric.WithDescription("Time until a node answered"))
	i.late, errs[5] = m.Int64Counter(LateReleases, metric.WithUnit("{release}"),
		metric.WithDescription("Releases of a node after the first"))
	return errors.Join(errs[:]...)
}

// seconds are buckets from a round trip in one data centre to a long wait.
var seconds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

func (i *instruments) start(ctx context.Context, op redlock.Operation) context.Context {
	ctx, _ = i.tracer.Start(ctx, "redlock."+op.Name, trace.WithAttributes(
		attribute.String("redlock.key", op.Key), attribute.Float64("redlock.ttl", op.TTL.Seconds())))
	return ctx
}

func (i *instruments) done(ctx context.Context, o redlock.Outcome) {
	operation, what := attribute.String("redlock.operation", o.Name), outcome(o.Err)
	how := metric.WithAttributes(operation, attribute.String("redlock.outcome", what))
	i.duration.Record(ctx, o.Took.Seconds(), how)
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attribute.String("redlock.outcome", what))
	if o.Name == "acquire" {
		i.attempts.Record(ctx, int64(o.Tries), how)
		span.SetAttributes(attribute.Int("redlock.attempts", o.Tries))
	}
	switch {
	case o.Err == nil && o.Name != "release":
		i.validity.Record(ctx, o.Validity.Seconds(), metric.WithAttributes(operation))
		span.SetAttributes(attribute.Float64("redlock.validity", o.Validity.Seconds()))
	case faults[what]:
		span.RecordError(o.Err)
		span.SetStatus(codes.Error, what)
	}
	span.End()
}

func (i *instruments) answered(ctx context.Context, a redlock.Answer) {
	by := metric.WithAttributes(of(a)...)
	i.votes.Add(ctx, 1, by)
	i.nodeDuration.Record(ctx, a.Took.Seconds(), by)
}

func (i *instruments) releasedLate(ctx context.Context, a redlock.Answer) {
	i.late.Add(ctx, 1, metric.WithAttributes(of(a)...))
}

// of are the attributes of an answer.
func of(a redlock.Answer) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("redlock.operation", a.Name), attribute.Int("redlock.node", a.Node),
		attribute.String("redlock.vote", a.Vote)}
	if a.Addr != "" {
		all = append(all, attribute.String("server.address", a.Addr))
	}
	return all
}
