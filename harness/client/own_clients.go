package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/link"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/overlay"
)

// ownClients lets a lock make its own Redis clients.
type ownClients struct {
	client    *Client
	addresses []string        // of the lock's servers
	hosts     *overlay.Client // the servers' names for the lock; nil in real time
	dialled   atomic.Bool     // the lock has tried to connect

	mu   sync.Mutex
	made []*redis.Client
	sent map[string]map[string]sentAt // by key of a LastSent call, and by word that ends in it
}

// lockNetwork is a lock's network of the servers at these addresses.
func (c *Client) lockNetwork(addresses []string) locks.Network {
	o := &ownClients{client: c, addresses: addresses, sent: map[string]map[string]sentAt{}}
	if c.scheduler.Virtual() && len(addresses) > 0 {
		o.hosts = overlay.NewClient(c.setup.Name, len(addresses), o.connect)
	}
	c.own = o
	network := locks.Network{Dial: o.dial, Redis: o.redis, LastSent: o.lastSent, Context: c.ctx, Dialled: o.dialled.Load}
	for i := range addresses {
		network.Servers = append(network.Servers, locks.Server{Addr: o.address(i), Password: c.setup.Password})
	}
	return network
}

// address is a server's address for the lock.
func (o *ownClients) address(server int) string {
	if o.hosts != nil {
		return o.hosts.Address(server)
	}
	return o.addresses[server]
}

// dial connects only to the lock's servers, over the client's links, where faults act.
func (o *ownClients) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for server := range o.addresses {
		if o.address(server) == addr {
			return o.connect(ctx, network, server)
		}
	}
	return nil, fmt.Errorf("dial %s: not one of the lock's servers %v", addr, o.addresses)
}

func (o *ownClients) connect(ctx context.Context, network string, server int) (net.Conn, error) {
	o.dialled.Store(true)
	conn, err := o.client.net.dial(ctx, network, o.addresses[server], server)
	if err != nil {
		if failed, ok := errors.AsType[*dialError](err); ok {
			err = failed.err // the lock's library may distinguish dial errors
		}
		return nil, err
	}
	return &sentConn{conn, o}, nil
}

// redis makes a go-redis client with the lock's own options. The maintenance handshake, which opens a connection, is
// off unless an option enables it.
func (o *ownClients) redis(server int, options ...func(*redis.Options)) *redis.Client {
	settings := &redis.Options{
		Addr: o.address(server), Password: o.client.setup.Password, Dialer: o.dial,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, set := range options {
		set(settings)
	}
	if o.client.setup.Options.ContextTimeouts {
		settings.ContextTimeoutEnabled = true
	}
	if o.client.setup.Options.NoRetries {
		settings.MaxRetries = -1
	}
	made := o.client.open(settings, server, 0)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made = append(o.made, made)
	return made
}

// close closes the clients that the lock has not closed.
func (o *ownClients) close() error {
	o.mu.Lock()
	made := o.made
	o.mu.Unlock()
	var errs []error
	for _, r := range made {
		if err := r.Close(); !errors.Is(err, redis.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sentAt are the last send times of commands that may acquire a key, and of others that change it: a holder may then
// count holders or store its name.
type sentAt struct{ take, change time.Duration }

// lastSent is the last send time of a command that may acquire the key, or else, without one after since, of one that
// changes it. Recording starts with the first call for a key. A word equal to the key counts before words that end in
// it (lock:k1). If several such words have different times, the key is ambiguous, and it returns them.
func (o *ownClients) lastSent(key string, since time.Duration) (latest time.Duration, several []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	words := o.sent[key]
	if words == nil {
		words = map[string]sentAt{}
		o.sent[key] = words
	}
	if own, known := words[key]; known {
		words = map[string]sentAt{key: own}
	}
	takes := false
	for _, at := range words {
		takes = takes || at.take >= since && at.take > 0
	}
	times := map[time.Duration]bool{}
	for word, at := range words {
		t := at.change
		if takes {
			t = at.take
		}
		if latest = max(latest, t); t >= since && t > 0 {
			times[t], several = true, append(several, word)
		}
	}
	if len(times) < 2 {
		return latest, nil
	}
	slices.Sort(several)
	return latest, several
}

// recordSent records the send time of commands. An argument may have a prefix before the key: lock:k1.
func (o *ownClients) recordSent(b []byte) {
	now := o.client.clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(b) > 0 {
		words, size, err := link.ReadCommand(b)
		if err != nil || size == 0 { // a part of a command
			words, size = append([]string{""}, strings.Split(string(b), "\r\n")...), len(b)
		}
		if name := strings.ToUpper(words[0]); !cluster.ChangesNoKey(name) {
			for key := range o.sent {
				o.recordKey(key, words[1:], cluster.MayTake(name), now)
			}
		}
		b = b[size:]
	}
}

// recordKey records the send time of words that end in a key.
func (o *ownClients) recordKey(key string, words []string, takes bool, now time.Duration) {
	for _, word := range words {
		if !strings.HasSuffix(word, key) {
			continue
		}
		at := o.sent[key][word]
		if takes {
			at.take = now
		} else {
			at.change = now
		}
		o.sent[key][word] = at
	}
}

// sentConn records send times.
type sentConn struct {
	net.Conn
	by *ownClients
}

func (c *sentConn) Write(b []byte) (int, error) {
	c.by.recordSent(b)
	return c.Conn.Write(b)
}

func (c *sentConn) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }
