package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// preconditionError says how a step's outcome differs from the one that the scenario needs: the run shows nothing, but
// is not a failure. It does not name the step, so that equal errors compare equal.
type preconditionError string

func (e preconditionError) Error() string { return string(e) }

func preconditionErrorf(format string, args ...any) error {
	return preconditionError(fmt.Sprintf(format, args...))
}

// pending is a client operation that the script does not wait for at once.
type pending struct {
	done <-chan client.Message
	step scenarios.Step
}

func (r *run) runScript(ctx context.Context) error {
	for i, s := range r.plan.Script {
		if err := r.nextInstant(ctx); err != nil {
			return err
		}
		r.note(s)
		if err := r.step(ctx, s); err != nil {
			return fmt.Errorf("step %d (%s %s): %w", i+1, s.Verb, strings.Join(s.Targets, " "), err)
		}
	}
	return nil
}

// nextInstant waits for the effects of the step before, in virtual time. No other offset orders events: the checker
// ignores a lease that ends at the instant of its grant, and counts a fault at an acquire's last instant as affecting
// it.
func (r *run) nextInstant(ctx context.Context) error { return r.cluster.Sleep(ctx, 1) }

func (r *run) note(s scenarios.Step) {
	r.record(history.Event{Time: r.cluster.Now(), Process: "harness", Type: history.TypeNote,
		Text: strings.TrimSpace(string(s.Verb) + " " + strings.Join(s.Targets, " "))})
}

func (r *run) step(ctx context.Context, s scenarios.Step) error {
	switch s.Verb {
	case scenarios.VerbWait:
		return r.cluster.Sleep(ctx, r.duration(s.Wait))
	case scenarios.VerbUntil:
		return r.awaitMessage(ctx, s)
	case scenarios.VerbAwaitExpiry:
		return r.each(s.Targets, func(name string) error { return r.awaitExpiry(ctx, name) })
	case scenarios.VerbAwaitSync:
		return r.each(s.Targets, func(name string) error { return r.awaitSync(ctx, name, r.stepTimeout(s)) })
	case scenarios.VerbAwaitPromotion:
		return r.each(s.Targets, func(name string) error { return r.awaitPromotion(ctx, name, r.stepTimeout(s)) })
	case scenarios.VerbAwait:
		return r.each(s.Targets, func(name string) error { return r.await(ctx, name, s.Must) })
	case scenarios.VerbCancel:
		return r.each(s.Targets, r.cancel)
	}
	if s.Verb == scenarios.VerbWatch && r.plan.Lock.Renews && !r.plan.Lock.Watches {
		return nil // it extends the lease by itself
	}
	if s.EachMessage {
		return r.arm(s)
	}
	if do := client.Do(s.Verb); do.Operation() != "" || do == client.DoWatch {
		return r.each(s.Targets, func(name string) error { return r.operate(ctx, name, do, s) })
	}
	return r.applyStep(ctx, s)
}

func (r *run) each(names []string, f func(string) error) error {
	for _, name := range names {
		if err := f(name); err != nil {
			return err
		}
	}
	return nil
}

// defaultTimeouts are for steps without a timeout: a library that waits forever would stop the script.
var defaultTimeouts = map[client.Do]scenarios.Span{
	client.DoAcquire: {TTLs: 4},
	client.DoRelease: {TTLs: 0.5},
}

// operate runs one operation of a client, and waits for it unless the step is asynchronous.
func (r *run) operate(ctx context.Context, name string, do client.Do, s scenarios.Step) error {
	if len(s.Reaching) > 0 {
		if err := r.reach(ctx, name, s.Reaching); err != nil {
			return err
		}
	}
	if s.Within.IsZero() {
		s.Within = defaultTimeouts[do]
	}
	r.recordLinkCounts(name)
	send := func() (<-chan client.Message, error) {
		done, err := r.clients.send(name,
			client.Command{Do: do, Key: s.Key, Thread: s.Thread, Within: r.duration(s.Within), IfHeld: s.IfHeld})
		if err == nil {
			r.pending[name] = append(r.pending[name], pending{done: done, step: s})
		}
		return done, err
	}
	if fault, armed := r.armed[name]; armed {
		return r.interrupted(ctx, name, fault, send)
	}
	if needsLease := do != client.DoAcquire && do != client.DoRead; needsLease && r.plan.Job.SkipIdleSteps &&
		len(r.pending[name]) == 0 && !r.clients.wasGranted(name, s.Key) {
		return nil
	}
	if _, err := send(); err != nil || s.Async {
		return err
	}
	return r.await(ctx, name, "")
}

// cancel cancels a client's operation. The history has the time of the cancellation even if the client ignores it.
func (r *run) cancel(name string) error {
	r.record(history.Event{Time: r.cluster.Now(), Process: name, Type: history.TypeCancel})
	_, err := r.clients.send(name, client.Command{Do: client.DoCancel})
	return err
}

// outcomes are words for an operation's required and actual outcome.
var outcomes = map[history.Type]struct{ had, did string }{
	history.TypeOK:   {"succeed", "succeeded"},
	history.TypeFail: {"fail", "failed"},
	history.TypeInfo: {"come to an unknown end", "came to an unknown end"},
}

// await waits for all pending operations of a client; must is the last one's required outcome.
func (r *run) await(ctx context.Context, name, must string) error {
	waiting := r.pending[name]
	r.pending[name] = nil
	switch {
	case len(waiting) == 0 && r.plan.Job.SkipIdleSteps:
		return nil
	case len(waiting) == 0:
		return fmt.Errorf("%s has nothing under way to wait for", name)
	}
	for i, p := range waiting {
		msg, err := r.awaitOperation(ctx, name, p)
		if err != nil {
			return err
		}
		want := p.step.Must
		if i == len(waiting)-1 && must != "" {
			want = must
		}
		if want != "" && string(msg.Outcome) != want {
			return preconditionErrorf("%s's %s had to %s, and %s", name, p.step.Verb,
				outcomes[history.Type(want)].had, outcomes[msg.Outcome].did)
		}
	}
	return nil
}

// reach cuts a client's links to all nodes but these.
func (r *run) reach(ctx context.Context, name string, nodes []string) error {
	for _, node := range r.plan.Servers() {
		target := history.Link{From: name, To: node}.Target()
		cut, reached := r.cuts[target], slices.Contains(nodes, node)
		switch {
		case cut == nil && !reached:
			begun, err := r.nemesis.Apply(ctx, nemesis.Fault{Kind: nemesis.Cut, Targets: []string{target},
				Direction: history.Both, Background: true})
			if err != nil {
				return err
			}
			r.cuts[target] = begun[0]
		case cut != nil && reached:
			delete(r.cuts, target)
			if err := r.nemesis.End(ctx, cut); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyStep applies a step's fault and schedules its end.
func (r *run) applyStep(ctx context.Context, s scenarios.Step) error {
	f := faultOf(s, r.duration)
	switch breaks := s.Fault().Breaks(); {
	case breaks && r.faultsOver.Load():
		return nil
	case !breaks && r.plan.Job.SkipIdleSteps:
		return r.each(s.Targets, func(target string) error {
			f.Targets = []string{target}
			_, err := r.apply(ctx, f)
			if _, idle := errors.AsType[nemesis.NotInEffect](err); idle {
				return nil
			}
			return err
		})
	}
	begun, err := r.apply(ctx, f)
	if err != nil {
		return err
	}
	switch {
	case !s.For.IsZero():
		r.afterDelay(ctx, s.For, func() error {
			for _, a := range begun {
				if err := r.nemesis.End(context.WithoutCancel(ctx), a); err != nil {
					return err
				}
			}
			return nil
		})
	case !s.After.IsZero():
		r.afterDelay(ctx, s.After, func() error {
			_, err := r.apply(ctx, nemesis.Fault{Kind: s.Fault().EndedBy, Targets: s.Targets})
			return err
		})
	}
	return nil
}

// afterDelay calls f later, in the background; the run waits for it.
func (r *run) afterDelay(ctx context.Context, after scenarios.Span, f func() error) {
	r.background.Go(func() error {
		if err := r.cluster.Sleep(ctx, r.duration(after)); err != nil {
			return err
		}
		return f()
	})
}

// faultOf converts a step to a fault; in converts its spans.
func faultOf(s scenarios.Step, in func(scenarios.Span) time.Duration) nemesis.Fault {
	return nemesis.Fault{
		Kind: string(s.Verb), Targets: s.Targets, Direction: s.Direction, Delay: in(s.By), Jump: in(s.Jump),
		Rate: s.Rate, Key: s.Key, To: s.To, Mistake: s.Mistake, Command: s.Of, Part: s.Part, Count: s.Times,
		Duration: in(s.For),
	}
}
