package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
)

// Bare returns an Env for one client on running servers without a password, with neither harness nor faults. It
// serves to measure the latency of a lock with the same New as in its test. end closes the clients that the Env made.
func Bare(ttl time.Duration, addrs ...string) (env Env, end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var clients []*redis.Client
	var dialer net.Dialer
	network := locks.Network{Dial: dialer.DialContext, Context: ctx}
	for _, addr := range addrs {
		network.Servers = append(network.Servers, locks.Server{Addr: addr})
	}
	network.Redis = func(i int, options ...func(*redis.Options)) *redis.Client {
		o := &redis.Options{Addr: addrs[i],
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}}
		for _, set := range options {
			set(o)
		}
		clients = append(clients, redis.NewClient(o))
		return clients[len(clients)-1]
	}
	env = newEnv(locks.Env{Network: network, Clock: redlock.SystemClock(), Rand: rand.Reader,
		Options: locks.Options{TTL: ttl}.WithDefaults()})
	return env, func() error {
		cancel()
		var errs []error
		for _, c := range clients {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
}
