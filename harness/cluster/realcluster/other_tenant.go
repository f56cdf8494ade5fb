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

// otherTenantPrefix begins the names of another tenant's keys, which are not locks.
const otherTenantPrefix = "other-tenant:"

// On an evicting server, another tenant fills the memory in pieces, several times. Redis evicts random samples: an
// evictable key survives ten rounds in about one of twenty thousand cases.
const (
	pieces = 24
	rounds = 10
)

// otherTenantTTL is the TTL of another tenant's keys under a volatile- policy, which evicts only keys with expiry. It
// is longer than any lock's, as in a cache. Keys without expiry would fill the server for good, and it would refuse
// the next lock.
const otherTenantTTL = time.Hour

// fill writes as another tenant until the memory is full; on an evicting server it writes ten times as much.
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
	// Redis checks its memory before a command, so one value may exceed the limit by far. It exceeds by a quarter, so
	// that freed temporary memory makes no room for a lock.
	sizes := []int{room + limit/4}
	if info["maxmemory_policy"] != "noeviction" {
		sizes = slices.Repeat([]int{room/pieces + 1}, pieces*rounds)
	}
	var expire time.Duration
	if strings.HasPrefix(info["maxmemory_policy"], "volatile-") {
		expire = otherTenantTTL
	}
	return write(ctx, client, sizes, expire)
}

// write writes values of these sizes until one does not fit. SETRANGE creates them as zeros, which need no transfer.
// They expire unless expire is 0.
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

// drain removes the remaining data of other tenants.
func drain(ctx context.Context, client *redis.Client) error {
	keys, err := client.Keys(ctx, otherTenantPrefix+"*").Result()
	if err != nil || len(keys) == 0 {
		return err
	}
	return client.Del(ctx, keys...).Err()
}

// rewrite starts a BGREWRITEAOF of about duration d, and waits until it is in progress. A Redis setting delays each
// written key.
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
	// The rewriting process has its own copy of the setting.
	return errors.Join(begun, client.ConfigSet(ctx, delay, "0").Err())
}

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
