package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
)

// downAfter is the silence after which a Sentinel considers a server down; failoverTimeout bounds one failover. Redis's
// defaults are 30 s and 3 min. A Sentinel retries a failed failover (a split vote, a silent replica) after twice
// failoverTimeout: a scenario cannot wait for minutes.
const (
	downAfter       = 500 * time.Millisecond
	failoverTimeout = 3 * time.Second
)

// SentinelSettings are the initial lines of sentinel.conf. A Sentinel requires the Password, and sends it to others.
func SentinelSettings() string {
	return fmt.Sprintf("requirepass %s\nsentinel sentinel-pass %[1]s\n", Password())
}

// watch makes the Sentinels watch the master, and waits until they are ready to promote a replica.
func (c *Cluster) watch(ctx context.Context) error {
	var watching errgroup.Group
	watched := c.cfg.Watched()
	for name, address := range c.Sentinels {
		watching.Go(func() error {
			err := watchMaster(ctx, address, c.Address(cluster.SentinelsName, watched[0]), len(c.Sentinels))
			if err == nil {
				err = awaitWatch(ctx, address, len(watched)-1)
			}
			if err != nil {
				return fmt.Errorf("sentinel %s: %w", name, err)
			}
			return nil
		})
	}
	return watching.Wait()
}

func (c *Cluster) Masters(ctx context.Context) ([]string, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var names []string
	for _, sentinel := range c.cfg.SentinelNames() {
		addr, err := masterOf(ctx, c.Sentinels[sentinel])
		if err != nil {
			return nil, fmt.Errorf("ask %s for the master: %w", sentinel, err)
		}
		for _, name := range c.cfg.Watched() {
			if c.Address(cluster.SentinelsName, name) == addr {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// Unwatch makes the Sentinels forget the master.
func (c *Cluster) Unwatch() error {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	var errs []error
	for _, address := range c.Sentinels {
		errs = append(errs, unwatch(ctx, address))
	}
	return errors.Join(errs...)
}

func withSentinel(addr string, f func(*redis.SentinelClient) error) error {
	s := redis.NewSentinelClient(options(addr))
	return errors.Join(f(s), s.Close())
}

// watchMaster makes one of several Sentinels watch a master.
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

// unwatch makes a Sentinel forget its master, if it has one.
func unwatch(ctx context.Context, sentinel string) error {
	return withSentinel(sentinel, func(s *redis.SentinelClient) error {
		if err := s.Remove(ctx, client.MasterName).Err(); err != nil && !strings.Contains(err.Error(), "No such master") {
			return err
		}
		return nil
	})
}

// masterOf reads the master's address from a Sentinel.
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

// awaitWatch waits until a Sentinel could promote a replica: it reaches the other Sentinels and knows all replicas.
func awaitWatch(ctx context.Context, sentinel string, replicas int) error {
	return withSentinel(sentinel, func(s *redis.SentinelClient) error {
		if err := retry(ctx, func() error { return watches(ctx, s, replicas) }); err != nil {
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

// announce sets the address that a server announces: a replica to its masters, and thereby to the Sentinels; or a
// member of a Redis Cluster to the others and to clients.
func announce(ctx context.Context, role, addr, announced string) error {
	host, port, err := net.SplitHostPort(announced)
	if err != nil {
		return err
	}
	return withClient(addr, func(c *redis.Client) error {
		return errors.Join(c.ConfigSet(ctx, role+"-announce-ip", host).Err(),
			c.ConfigSet(ctx, role+"-announce-port", port).Err())
	})
}
