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

// ownClients are what a lock makes its own clients of.
type ownClients struct {
	client    *Client
	addresses []string        // of the lock's servers
	hosts     *overlay.Client // the servers' names for the lock; nil in real time
	dialled   atomic.Bool     // the lock has tried to connect

	mu   sync.Mutex
	sent map[string]map[string]sentAt // by key, of those asked for, and by word that ends in it
}

// open gives a lock its servers at these addresses.
func (c *Client) network(addresses []string) locks.Network {
	o := &ownClients{client: c, addresses: addresses, sent: map[string]map[string]sentAt{}}
	if c.virtual && len(addresses) > 0 {
		o.hosts = overlay.NewClient(c.setup.Name, len(addresses), o.connect)
		c.hosts = o.hosts
	}
	network := locks.Network{Dial: o.dial, Redis: o.redis, LastSent: o.lastSent, Context: c.ctx, Dialled: o.dialled.Load}
	for i := range addresses {
		network.Servers = append(network.Servers, locks.Server{Addr: o.address(i), Password: c.setup.Password})
	}
	return network
}

// address is a server's for the lock.
func (o *ownClients) address(server int) string {
	if o.hosts != nil {
		return o.hosts.Address(server)
	}
	return o.addresses[server]
}

// dial connects to a server of the lock's, and to no other: what does not pass the
// client's links gets no faults.
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
			err = failed.err // its own libraries tell a refused dial from others
		}
		return nil, err
	}
	return &sentConn{conn, o}, nil
}

// redis makes a go-redis client with the lock's own options. What is not about the
// lock and would dial besides, the handshake for maintenance, is off unless asked
// for.
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
	o.client.mu.Lock()
	defer o.client.mu.Unlock()
	o.client.made = append(o.client.made, made)
	return made
}

// sentAt is when commands about a key were last sent, those that may take it and those that change it: who has
// a lock may go on to count its holders, or to write down who it is.
type sentAt struct{ take, change time.Duration }

// lastSent gives when a command that may take a key was last sent, or else, if none was since a time, one that changes
// it, and looks out for such from its first call on. A word that is the key counts before those that end in it
// (lock:k1); of several such that were last sent at different times, it is not known which is the key: it names them.
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

// noteSent notes when commands are sent. The key ends an argument, whatever a lock puts
// before it: lock:k1.
func (o *ownClients) noteSent(b []byte) {
	now := o.client.clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(b) > 0 {
		words, size, err := link.ReadCommand(b)
		if err != nil || size == 0 { // a part of one
			words, size = append([]string{""}, strings.Split(string(b), "\r\n")...), len(b)
		}
		if name := strings.ToUpper(words[0]); !cluster.ChangesNoKey(name) {
			for key := range o.sent {
				o.noteKey(key, words[1:], cluster.MayTake(name), now)
			}
		}
		b = b[size:]
	}
}

// noteKey notes when words that end in a key are sent.
func (o *ownClients) noteKey(key string, words []string, takes bool, now time.Duration) {
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

// sentConn notes when what is sent.
type sentConn struct {
	net.Conn
	by *ownClients
}

func (c *sentConn) Write(b []byte) (int, error) {
	c.by.noteSent(b)
	return c.Conn.Write(b)
}

func (c *sentConn) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }
