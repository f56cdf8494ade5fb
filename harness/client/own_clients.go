package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockproof/harness/locks"
)

// ownClients are what a lock makes its own clients of.
type ownClients struct {
	client    *Client
	addresses []string // of the lock's servers

	mu     sync.Mutex
	dialed map[string]int           // connections so far, by address
	sent   map[string]time.Duration // when a command with that key was last sent; of those asked for
}

// open gives a lock its servers at these addresses.
func (c *Client) open(addresses []string) locks.Network {
	o := &ownClients{client: c, addresses: addresses, dialed: map[string]int{}, sent: map[string]time.Duration{}}
	network := locks.Network{Dial: o.dial, Redis: o.redis, Sent: o.lastSent, Context: c.ctx}
	for _, addr := range addresses {
		network.Servers = append(network.Servers, locks.Server{Addr: addr, Password: c.setup.Password})
	}
	return network
}

// dial connects to a server of the lock's, and to no other: what does not pass the
// client's links is out of the reach of faults.
func (o *ownClients) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	order := slices.Index(o.addresses, addr)
	if order < 0 {
		return nil, fmt.Errorf("dial %s: it is none of the lock's servers, which are %v", addr, o.addresses)
	}
	o.mu.Lock()
	number := o.dialed[addr]
	o.dialed[addr]++
	o.mu.Unlock()
	conn, err := o.client.net.dial(ctx, network, addr, lagOf(order, number), false)
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
		Addr: o.addresses[server], Password: o.client.setup.Password, Dialer: o.dial,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, set := range options {
		set(settings)
	}
	made := redis.NewClient(settings)
	if o.client.clock.pauser != nil { // virtual time
		made.AddHook(&sendOrder{now: o.client.clock.now, server: server})
	}
	o.client.mu.Lock()
	defer o.client.mu.Unlock()
	o.client.made = append(o.client.made, made)
	return made
}

// lastSent gives when a command with a key was last sent, and looks out for such from
// its first call on.
func (o *ownClients) lastSent(key string) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.sent[key]
	o.sent[key] = at
	return at
}

// sending notes when commands are sent. The key ends an argument, whatever a lock puts
// before it: lock:k1.
func (o *ownClients) sending(b []byte) {
	now := o.client.clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.sent {
		if bytes.Contains(b, []byte(key+"\r\n")) {
			o.sent[key] = now
		}
	}
}

// sentConn notes when what is sent.
type sentConn struct {
	net.Conn
	by *ownClients
}

func (c *sentConn) Write(b []byte) (int, error) {
	c.by.sending(b)
	return c.Conn.Write(b)
}

// SyscallConn is where go-redis asks a pooled connection whether the server has
// closed it.
func (c *sentConn) SyscallConn() (syscall.RawConn, error) {
	if under, ok := c.Conn.(syscall.Conn); ok {
		return under.SyscallConn()
	}
	return nil, errNoDescriptor
}
