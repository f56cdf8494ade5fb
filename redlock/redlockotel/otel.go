package redlockotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/server"
)

const instrumentation = "example.org/lockproof/redlock/redlockotel"

// The metrics. All have the attribute redlock.operation. Operations add redlock.outcome (see outcomes). Nodes add
// redlock.node (the index in the list), server.address, and redlock.vote: yes, no or failed.
const (
	Duration     = "redlock.operation.duration" // in seconds; an acquire includes its waits
	Attempts     = "redlock.acquire.attempts"   // of an acquire
	Validity     = "redlock.lease.validity"     // remaining at a grant or an extension, in seconds
	Votes        = "redlock.node.votes"         // includes late votes and repeated releases
	NodeDuration = "redlock.node.duration"      // until a node answered, in seconds
)

// outcomes are the values of redlock.outcome by error, in the order in which they are tried. Any other error is
// "failed", no error is "ok".
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
		err = attempt.Ended // even if earlier attempts had other reasons
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	return "failed"
}

// faults are outcomes that are errors of a span: they point to the nodes or to wrong use of the lock, and not to
// bad timing alone.
var faults = map[string]bool{"failed": true, "no_majority": true, "too_late": true, "duplicate_node": true}

// Option sets up an Observer.
type Option func(*config)

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
}

// WithTracerProvider makes spans with p instead of the global provider.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithMeterProvider measures with p instead of the global provider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// Observer measures locks and their nodes. One may serve several locks.
type Observer struct {
	tracer                           trace.Tracer
	duration, validity, nodeDuration metric.Float64Histogram
	attempts                         metric.Int64Histogram
	votes                            metric.Int64Counter
}

// New makes an observer. It fails if the meter refuses the metrics.
func New(opts ...Option) (*Observer, error) {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, opt := range opts {
		opt(&c)
	}
	o, m := &Observer{tracer: c.tracers.Tracer(instrumentation)}, c.meters.Meter(instrumentation)
	var errs [5]error
	o.duration, errs[0] = m.Float64Histogram(Duration, metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(seconds...),
		metric.WithDescription("Duration of acquires with their waits, extensions and releases"))
	o.attempts, errs[1] = m.Int64Histogram(Attempts, metric.WithUnit("{attempt}"),
		metric.WithExplicitBucketBoundaries(1, 2, 3, 5, 10, 20, 50, 100, 1000),
		metric.WithDescription("Attempts of an acquire"))
	o.validity, errs[2] = m.Float64Histogram(Validity, metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 300, 600),
		metric.WithDescription("Validity that was left of a lease as it was granted or extended"))
	o.votes, errs[3] = m.Int64Counter(Votes, metric.WithUnit("{vote}"), metric.WithDescription("Answers of nodes"))
	o.nodeDuration, errs[4] = m.Float64Histogram(NodeDuration, metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(seconds...),
		metric.WithDescription("Time until a node answered"))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("redlockotel: %w", err)
	}
	return o, nil
}

// seconds are buckets from a round trip in one data centre to a long wait.
var seconds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
	10, 30, 60}

// Lock is a lock whose operations are measured, each as a span.
type Lock struct {
	*redlock.Redlock
	observer *Observer
}

// Lock observes a lock.
func (o *Observer) Lock(lock *redlock.Redlock) *Lock { return &Lock{lock, o} }

// Acquire is Redlock.Acquire, measured.
func (l *Lock) Acquire(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
	return l.acquire(ctx, key, ttl, l.Redlock.Acquire)
}

// TryAcquire is Redlock.TryAcquire, measured.
func (l *Lock) TryAcquire(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
	return l.acquire(ctx, key, ttl, l.Redlock.TryAcquire)
}

func (l *Lock) acquire(ctx context.Context, key string, ttl time.Duration,
	acquire func(context.Context, string, time.Duration) (*redlock.Lease, error),
) (*Lease, error) {
	ctx, done := l.observer.start(ctx, "acquire", key, ttl)
	lease, err := acquire(ctx, key, ttl)
	tries, left := 0, time.Duration(0)
	var attempt *redlock.AttemptError
	if err == nil {
		tries, left = lease.Tries(), lease.Validity()
	} else if errors.As(err, &attempt) {
		tries = attempt.Tries
	}
	done(err, tries, left)
	if err != nil {
		return nil, err
	}
	return &Lease{lease, l.observer}, nil
}

// Lease is a lease whose operations are measured.
type Lease struct {
	*redlock.Lease
	observer *Observer
}

// Extend is Lease.Extend, measured.
func (l *Lease) Extend(ctx context.Context) error {
	ctx, done := l.observer.start(ctx, "extend", l.Key(), l.TTL())
	err := l.Lease.Extend(ctx)
	done(err, 0, l.Validity())
	return err
}

// Release is Lease.Release, measured.
func (l *Lease) Release(ctx context.Context) error {
	ctx, done := l.observer.start(ctx, "release", l.Key(), l.TTL())
	err := l.Lease.Release(ctx)
	done(err, 0, 0)
	return err
}

// Watch is Lease.Watch with measured extensions.
func (l *Lease) Watch(parent context.Context) context.Context { return l.WatchBy(parent, l.Extend) }

func (o *Observer) start(ctx context.Context, op, key string, ttl time.Duration) (
	context.Context, func(err error, tries int, left time.Duration),
) {
	began := time.Now()
	ctx, span := o.tracer.Start(ctx, "redlock."+op, trace.WithAttributes(
		attribute.String("redlock.key", key), attribute.Float64("redlock.ttl", ttl.Seconds())))
	return ctx, func(err error, tries int, left time.Duration) {
		operation, what := attribute.String("redlock.operation", op), outcome(err)
		how := metric.WithAttributes(operation, attribute.String("redlock.outcome", what))
		o.duration.Record(ctx, time.Since(began).Seconds(), how)
		span.SetAttributes(attribute.String("redlock.outcome", what))
		if tries > 0 {
			o.attempts.Record(ctx, int64(tries), how)
			span.SetAttributes(attribute.Int("redlock.attempts", tries))
		}
		switch {
		case err == nil && op != "release":
			o.validity.Record(ctx, left.Seconds(), metric.WithAttributes(operation))
			span.SetAttributes(attribute.Float64("redlock.validity", left.Seconds()))
		case faults[what]:
			span.RecordError(err)
			span.SetStatus(codes.Error, what)
		}
		span.End()
	}
}

// Nodes is a decorator that measures the answers of nodes. It must be the last.
func (o *Observer) Nodes(servers []*server.Server, nodes []redlock.Node) error {
	for i, s := range servers {
		nodes[i] = &node{s, nodes[i], o}
	}
	return nil
}

type node struct {
	*server.Server
	next     redlock.Node
	observer *Observer
}

func (n *node) SetIfAbsent(ctx context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	began := time.Now()
	absent, holder, err = n.next.SetIfAbsent(ctx, c)
	n.answered(ctx, "acquire", began, absent || holder == c.Token, err)
	return absent, holder, err
}

func (n *node) DeleteIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	began := time.Now()
	done, err := n.next.DeleteIfEqual(ctx, c)
	n.answered(ctx, "release", began, done, err)
	return done, err
}

func (n *node) ExpireIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	began := time.Now()
	done, err := n.next.ExpireIfEqual(ctx, c)
	n.answered(ctx, "extend", began, done, err)
	return done, err
}

func (n *node) answered(ctx context.Context, op string, began time.Time, yes bool, err error) {
	vote := "no"
	if err != nil {
		vote = "failed"
	} else if yes {
		vote = "yes"
	}
	by := metric.WithAttributes(attribute.String("redlock.operation", op), attribute.Int("redlock.node", n.Index),
		attribute.String("redlock.vote", vote), attribute.String("server.address", n.String()))
	n.observer.votes.Add(ctx, 1, by)
	n.observer.nodeDuration.Record(ctx, time.Since(began).Seconds(), by)
}
