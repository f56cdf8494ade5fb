package redlock

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// identity is what a server says of itself in INFO server.
type identity struct {
	runID            string        // "" if it does not say
	product, version string        // redis or valkey, and its own version
	up               time.Duration // by its wall clock, in whole seconds; negative if it does not say
}

// identify reads the answer to INFO server.
func identify(info *redis.StringCmd) (identity, error) {
	who := identity{product: "redis", up: -1}
	text, err := info.Result()
	if err != nil {
		return who, err
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "run_id":
			who.runID = value
		case "server_name": // Valkey says so, and gives a Redis version that it is compatible with
			who.product = value
		case "redis_version", "valkey_version":
			if product, _, _ := strings.Cut(name, "_"); product == who.product {
				who.version = value
			}
		case "uptime_in_seconds":
			if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
				who.up = time.Duration(seconds) * time.Second
			}
		}
	}
	return who, nil
}

// askWho is the question that identify reads the answer of.
func askWho(ctx context.Context) *redis.StringCmd { return redis.NewStringCmd(ctx, "info", "server") }

// setAndIdentify asks the server who it is in the same write as a SET, and ahead
// of it, so that identifying costs no time, and so that it is the server that
// carries out the SET which says so. A server that answers the SET but refuses
// INFO stays unverified.
func (n *node) setAndIdentify(ctx context.Context, r *Redlock, set *redis.StringCmd) (identity, error) {
	info := askWho(ctx)
	n.line.process(ctx, set, info)

	who, err := identify(info)
	if err == nil && who.runID != "" && r.on(DistinctNodes) {
		if err := r.claim(ctx, who.runID, n); err != nil {
			return who, err
		}
	}
	if err == nil {
		n.dialect.Store(int32(dialectOf(who)))
	}
	var refused redis.Error
	answered := set.Err() == nil || errors.Is(set.Err(), redis.Nil)
	if err == nil || errors.As(err, &refused) && answered {
		n.identified.Store(true)
	}
	return who, nil
}
