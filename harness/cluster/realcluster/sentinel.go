package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/client"
)

// downAfter is for how long a server has to be silent before a Sentinel takes it
// for down, and failoverTimeout how long one failover may take; Redis's own
// defaults are 30 s and 3 min. After a failover that came to nothing (a vote that was
// split, a replica that was not heard from just then) a Sentinel waits twice as long
// before it tries again: a scenario cannot wait for minutes.
const (
	downAfter       = 500 * time.Millisecond
	failoverTimeout = 3 * time.Second
)

// SentinelSettings are the lines of sentinel.conf of a Sentinel that watches nobody yet. It
// asks for the Password, and gives it to its like.
func SentinelSettings() string {
	return fmt.Sprintf("requirepass %s\nsentinel sentinel-pass %[1]s\n", Password())
}

// withSentinel calls f with a client of the Sentinel at an address.
func withSentinel(addr string, f func(*redis.SentinelClient) error) error {
	s := redis.NewSentinelClient(options(addr))
	return errors.Join(f(s), s.Close())
}

// watchMaster has a Sentinel that is one of several watch a master.
func watchMaster(ctx context.Context, sentinel, master string, sentinels int) error {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return err
	}
	return withSentinel(sentinel, func(s *redis.SentinelClient) error {
		if err := s.Monitor(ctx, client.MasterName, host, port, fmt.Sprint(sentinels/2+1)).Err(); err != nil {
			return err
		}
		return errors.Join(
			s.Set(ctx, client.MasterName, "down-after-milliseconds", fmt.Sprint(downAfter.Milliseconds())).Err(),
			s.Set(ctx, client.MasterName, "auth-pass", Password()).Err(),
			s.Set(ctx, client.MasterName, "failover-timeout", fmt.Sprint(failoverTimeout.Milliseconds())).Err())
	})
}

// unwatch has a Sentinel forget the master that it watches, if it does.
func unwatch(ctx context.Context, sentinel string) error {
	return withSentinel(sentinel, func(s *redis.SentinelClient) error {
		if err := s.Remove(ctx, client.MasterName).Err(); err != nil && !strings.Contains(err.Error(), "No such master") {
			return err
		}
		return nil
	})
}

// masterOf asks a Sentinel for the address of the master.
func masterOf(ctx context.Context, sentinel string) (string, error) {
	var address string
	err := withSentinel(sentinel, func(s *redis.SentinelClient) error {
		parts, err := s.GetMasterAddrByName(ctx, client.MasterName).Result()
		if err == nil && len(parts) != 2 {
			err = fmt.Errorf("it gives the address as %q", parts)
		}
		if err == nil {
			address = net.JoinHostPort(parts[0], parts[1])
		}
		return err
	})
	return address, err
}

// awaitWatch returns once a Sentinel could promote a replica: it reaches the other
// Sentinels, and has heard from so many replicas.
func awaitWatch(ctx context.Context, sentinel string, replicas int) error {
	return withSentinel(sentinel, func(s *redis.SentinelClient) error {
		if err := until(ctx, func() error { return watches(ctx, s, replicas) }); err != nil {
			return fmt.Errorf("it is not ready to promote a replica: %w", err)
		}
		return nil
	})
}

func watches(ctx context.Context, s *redis.SentinelClient, replicas int) error {
	if err := s.CkQuorum(ctx, client.MasterName).Err(); err != nil {
		return err
	}
	seen, err := s.Replicas(ctx, client.MasterName).Result()
	if err != nil {
		return err
	}
	ready := 0
	for _, r := range seen {
		if r["flags"] == "slave" && r["master-link-status"] == "ok" {
			ready++
		}
	}
	if ready < replicas {
		return fmt.Errorf("it has heard from %d of %d replicas", ready, replicas)
	}
	return nil
}

// announce has a replica tell its masters, and so the Sentinels, an address from now on.
func announce(ctx context.Context, addr, announced string) error {
	host, port, err := net.SplitHostPort(announced)
	if err != nil {
		return err
	}
	return with(addr, func(c *redis.Client) error {
		return errors.Join(c.ConfigSet(ctx, "replica-announce-ip", host).Err(),
			c.ConfigSet(ctx, "replica-announce-port", port).Err())
	})
}
