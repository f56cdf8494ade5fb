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
	up               time.Duration // by its wall clock, in whole seconds; negative if that was set back since
	tellsUp          bool
}

// identify reads the answer to INFO server.
func identify(info *redis.StringCmd) (identity, error) {
	who := identity{product: "redis"}
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
				who.up, who.tellsUp = time.Duration(seconds)*time.Second, true
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
// INFO stays unverified; unheard is why there is no identity.
func (n *node) setAndIdentify(ctx context.Context, r *Redlock, set *redis.StringCmd) (who identity, unheard, err error) {
	info := askWho(ctx)
	n.line.process(ctx, set, info)

	who, unheard = identify(info)
	if unheard == nil && who.runID != "" && r.on(DistinctNodes) {
		if err := r.claim(ctx, who.runID, n); err != nil {
			return who, nil, err
		}
	}
	if unheard == nil {
		n.dialect.Store(int32(dialectOf(who)))
	}
	var refused redis.Error
	answered := set.Err() == nil || errors.Is(set.Err(), redis.Nil)
	if unheard == nil || errors.As(unheard, &refused) && answered {
		n.identified.Store(true)
	}
	return who, unheard, nil
}
