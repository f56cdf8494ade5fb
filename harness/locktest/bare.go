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

// Bare gives the world of one client on servers that run already, which ask for no
// password: no harness watches and no fault befalls it. It is for measuring what a lock
// costs that is put to the test with the same New. end closes the clients that it has made.
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
