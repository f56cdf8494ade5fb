package realcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// endlessScript runs until SCRIPT KILL.
const endlessScript = `while true do end`

// busyThreshold is the setting for the time after which a server with a running script answers BUSY, in milliseconds;
// the default is 5 s.
const busyThreshold = "busy-reply-threshold"

// silence is the time without an answer after which a server counts as blocked.
const silence = 20 * time.Millisecond

// unreachable reports whether a server refused a look because it is loading or runs a script.
func unreachable(err error) bool {
	return redis.IsLoadingError(err) || redis.HasErrorPrefix(err, "BUSY")
}

// occupy runs another user's script on a server that then answers BUSY. For a server that must not answer it runs DEBUG
// SLEEP instead. See cluster.Node.
func occupy(ctx context.Context, addr string, d time.Duration,
	answers bool) (end func(context.Context) error, err error) {
	const noTimeout = -1
	client := connect(addr, noTimeout)
	defer func() {
		if err != nil {
			err = errors.Join(err, client.Close())
		}
	}()
	before, err := client.ConfigGet(ctx, busyThreshold).Result()
	if err != nil {
		return nil, err
	}
	if err := client.ConfigSet(ctx, busyThreshold, "1").Err(); err != nil {
		return nil, err
	}
	// A silent server may as well sleep, which leaves the processor to the processes under test.
	long := []any{"DEBUG", "SLEEP", d.Seconds()}
	if answers {
		long = []any{"EVAL", endlessScript, 0}
	}
	done := make(chan error, 1)
	go func() { done <- client.Do(context.WithoutCancel(ctx), long...).Err() }()
	if err := awaitOccupied(ctx, client, answers, done); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := release(ctx, client, answers, done)
		if err == nil {
			err = client.ConfigSet(ctx, busyThreshold, before[busyThreshold]).Err()
		}
		if errors.Is(err, errGone) {
			err = nil
		}
		return errors.Join(err, client.Close())
	}, nil
}

// errGone means that a server ended while a script ran on it.
var errGone = errors.New("the server is gone")

// awaitOccupied waits until the server is observed to be occupied.
func awaitOccupied(ctx context.Context, client *redis.Client, answers bool, done <-chan error) error {
	for {
		pingCtx, cancel := context.WithTimeout(ctx, silence)
		err := client.Ping(pingCtx).Err()
		silent := pingCtx.Err() != nil
		cancel()
		switch {
		case answers && redis.HasErrorPrefix(err, "BUSY"), !answers && silent && ctx.Err() == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("it is not occupied: %w", ctx.Err())
		}
		select {
		case err := <-done:
			return fmt.Errorf("it ended at once: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// release ends the endlessScript script, or waits for the end of the sleep.
func release(ctx context.Context, client *redis.Client, answers bool, done <-chan error) error {
	if answers {
		if err := client.ScriptKill(ctx).Err(); err != nil && !redis.HasErrorPrefix(err, "NOTBUSY") {
			return errors.Join(errGone, err)
		}
	}
	select {
	case err := <-done:
		var reply redis.Error
		if err != nil && !errors.As(err, &reply) {
			return errors.Join(errGone, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the script goes on: %w", ctx.Err())
	}
}
