package realcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// endless runs until SCRIPT KILL.
const endless = `while true do end`

// threshold is the setting from when on a server whose script runs answers BUSY, in
// milliseconds; Redis's default is 5 s.
const threshold = "busy-reply-threshold"

// unanswered is how long a server has not answered that is blocked by a script.
const unanswered = 20 * time.Millisecond

// unreachable reports whether a server says that it cannot be looked into: it is loading, or
// busy with a script.
func unreachable(err error) bool {
	return redis.IsLoadingError(err) || redis.HasErrorPrefix(err, "BUSY")
}

// occupy lets another user's script run on a server that answers BUSY, or DEBUG SLEEP
// in place of one that answers nothing, as cluster.Node says.
func occupy(ctx context.Context, addr string, d time.Duration,
	answers bool) (end func(context.Context) error, err error) {
	const forEver = -1
	client := connect(addr, forEver)
	defer func() {
		if err != nil {
			err = errors.Join(err, client.Close())
		}
	}()
	before, err := client.ConfigGet(ctx, threshold).Result()
	if err != nil {
		return nil, err
	}
	if err := client.ConfigSet(ctx, threshold, "1").Err(); err != nil {
		return nil, err
	}
	// A server that answers nothing is so whether it works or sleeps, and one that
	// sleeps leaves the processor to those who are watched.
	long := []any{"DEBUG", "SLEEP", d.Seconds()}
	if answers {
		long = []any{"EVAL", endless, 0}
	}
	over := make(chan error, 1)
	go func() { over <- client.Do(context.WithoutCancel(ctx), long...).Err() }()
	if err := awaitOccupied(ctx, client, answers, over); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := release(ctx, client, answers, over)
		if err == nil {
			err = client.ConfigSet(ctx, threshold, before[threshold]).Err()
		}
		if errors.Is(err, errGone) {
			err = nil
		}
		return errors.Join(err, client.Close())
	}, nil
}

// errGone says that a server ended while a script ran on it.
var errGone = errors.New("the server is gone")

// awaitOccupied returns once the server is seen to be occupied.
func awaitOccupied(ctx context.Context, client *redis.Client, answers bool, over <-chan error) error {
	for {
		within, cancel := context.WithTimeout(ctx, unanswered)
		err := client.Ping(within).Err()
		silent := within.Err() != nil
		cancel()
		switch {
		case answers && redis.HasErrorPrefix(err, "BUSY"), !answers && silent && ctx.Err() == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("it is not occupied: %w", ctx.Err())
		}
		select {
		case err := <-over:
			return fmt.Errorf("it ended at once: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// release ends the script, which has no end, or waits for that of the sleep.
func release(ctx context.Context, client *redis.Client, answers bool, over <-chan error) error {
	if answers {
		if err := client.ScriptKill(ctx).Err(); err != nil && !redis.HasErrorPrefix(err, "NOTBUSY") {
			return errors.Join(errGone, err)
		}
	}
	select {
	case err := <-over:
		var reply redis.Error
		if err != nil && !errors.As(err, &reply) {
			return errors.Join(errGone, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the script goes on: %w", ctx.Err())
	}
}
