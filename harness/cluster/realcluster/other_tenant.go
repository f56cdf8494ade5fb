package realcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster/realtime"
)

// otherTenantPrefix begins the names of keys that belong to another user of the
// server. They are no locks.
const otherTenantPrefix = "other-tenant:"

// How another tenant fills a memory where the server evicts keys for it: in so many
// pieces, and so many times over. Redis evicts by drawing samples: a key that may
// go survives ten times over in one case of some twenty thousand.
const (
	pieces = 24
	times  = 10
)

// otherTenantTTL is how long another tenant's keys last where a volatile- policy evicts
// only what expires: longer than any lock, as in a cache. Keys that did not expire
// would fill such a server for good, and it would refuse the next lock.
const otherTenantTTL = time.Hour

// fill lets another tenant write until no more fits, and where the server evicts
// keys for it, ten times as much.
func fill(ctx context.Context, client *redis.Client) error {
	info, err := information(ctx, client)
	if err != nil {
		return err
	}
	used, limit := number(info, "used_memory"), number(info, "maxmemory")
	if limit == 0 {
		return errors.New("its memory has no limit (maxmemory), and is never full")
	}
	room := max(limit-used, 0)
	// Redis looks at its memory before it carries a command out: one value may
	// go well beyond the limit, and what the server needs for a moment and
	// gives back then makes no room for a lock.
	sizes := []int{room + limit/4}
	if info["maxmemory_policy"] != "noeviction" {
		sizes = slices.Repeat([]int{room/pieces + 1}, pieces*times)
	}
	var expire time.Duration
	if strings.HasPrefix(info["maxmemory_policy"], "volatile-") {
		expire = otherTenantTTL
	}
	return write(ctx, client, sizes, expire)
}

// write writes values of these sizes, until one finds no room. They are zeros,
// which need not be sent, and they expire unless expire is 0.
func write(ctx context.Context, client *redis.Client, sizes []int, expire time.Duration) error {
	prefix := otherTenantPrefix + strconv.FormatInt(time.Now().UnixNano(), 36) + ":"
	for i, size := range sizes {
		key := prefix + strconv.Itoa(i)
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.SetRange(ctx, key, int64(max(size, 1)-1), "x")
			if expire > 0 {
				pipe.PExpire(ctx, key, expire)
			}
			return nil
		})
		if redis.HasErrorPrefix(err, "OOM") {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drain removes what is left of the other tenants' data.
func drain(ctx context.Context, client *redis.Client) error {
	keys, err := client.Keys(ctx, otherTenantPrefix+"*").Result()
	if err != nil || len(keys) == 0 {
		return err
	}
	return client.Del(ctx, keys...).Err()
}

// rewrite begins a BGREWRITEAOF that takes about d, and returns once it is in
// progress. Redis itself can be slow for each key that it writes.
func rewrite(ctx context.Context, client *redis.Client, d time.Duration) error {
	keys, err := client.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	if keys == 0 {
		keys = 1
		if err := client.Set(ctx, otherTenantPrefix+"rewritten", "x", 0).Err(); err != nil {
			return err
		}
	}
	const delay = "rdb-key-save-delay" // in microseconds
	if err := client.ConfigSet(ctx, delay, strconv.FormatInt(d.Microseconds()/keys, 10)).Err(); err != nil {
		return err
	}
	begun := client.BgRewriteAOF(ctx).Err()
	if begun == nil {
		begun = awaitRewrite(ctx, client)
	}
	// The process that rewrites has its own copy of the setting.
	return errors.Join(begun, client.ConfigSet(ctx, delay, "0").Err())
}

// awaitRewrite returns once a rewrite is in progress.
func awaitRewrite(ctx context.Context, client *redis.Client) error {
	err := realtime.Poll(ctx, time.Millisecond, func() (bool, error) {
		info, err := information(ctx, client)
		return info["aof_rewrite_in_progress"] == "1", err
	})
	if err != nil {
		return fmt.Errorf("the rewrite has not begun: %w", err)
	}
	return nil
}
