package redlock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// WithLogger has the lock warn of what its callers do not see, or might not think much of:
// two nodes that are one server; a grant or an extension of which less than half the TTL
// is left, as the margin is large for it or the nodes are slow; an extension that came
// within a tenth of the TTL of the end; one that a Watch has to repeat; and a Watch that
// ends before its holder has released the lease. It logs nothing else, and nothing unless
// asked. Records have the key, never a token.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l == nil {
			return errors.New("WithLogger: the logger is nil; leave the option out for none")
		}
		o.log = l
		return nil
	}
}

// warn logs a warning, if there is a logger.
func (r *Redlock) warn(ctx context.Context, message string, attrs ...slog.Attr) {
	if r.log != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "redlock: "+message, attrs...)
	}
}

// warnIfNarrow warns if little validity is left of a lease that has just been granted or
// extended.
func (r *Redlock) warnIfNarrow(ctx context.Context, l *Lease) {
	if r.log == nil {
		return
	}
	if left := l.Validity(); left < l.ttl/2 {
		r.warn(ctx, "less than half of the TTL is left to work in", slog.String("key", l.key), slog.Duration("ttl", l.ttl),
			slog.Duration("margin", r.margin(l.ttl)), slog.Duration("validity", left))
	}
}

// warnIfClose warns of an extension that came through so long before the lease's end
// of before.
func (r *Redlock) warnIfClose(ctx context.Context, l *Lease, before time.Duration) {
	if before < l.ttl/10 {
		r.warn(ctx, "an extension has nearly come too late", slog.String("key", l.key), slog.Duration("ttl", l.ttl),
			slog.Duration("validity", before))
	}
}

// warn logs what came of an extension, or why watching ends, where the holder should know.
func (w *watch) warn(message string, err error) {
	l := w.lease
	l.lock.warn(w.ctx, message, slog.String("key", l.key), slog.Duration("ttl", l.ttl), slog.Duration("validity", l.Validity()),
		slog.Any("error", err))
}
