package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/league"
	"example.org/lockproof/bench/lock"
	"example.org/lockproof/harness/locktest"
)

const (
	// ttl is every lock's that has one; all release long before.
	ttl = 10 * time.Second
	// patience bounds a caller's wait while a server hangs. It exceeds go-redis's read timeout, which some locks wait
	// for.
	patience = 8 * time.Second
	// settles is the time for a lock's background work before its keys are counted.
	settles = 300 * time.Millisecond
)

// measured has all locks, open at once on the same servers.
type measured struct {
	ctx     context.Context
	servers *lock.Servers
	length  time.Duration
	all     []*contender
}

// contender is one lock with its measurements.
type contender struct {
	league.Lock
	lock     locktest.Lock
	end      func() error
	next     int // number of its next key
	rates    []float64
	commands []float64
	left     int64 // orphaned keys, after abandoned attempts
	hung     string
}

func (m *measured) open(l league.Lock) error {
	if l.Prepare != nil {
		l.Prepare()
	}
	env, end := locktest.Bare(ttl, m.servers.Addrs...)
	opened, err := l.New(env)
	if err != nil {
		return errors.Join(err, end())
	}
	m.all = append(m.all, &contender{Lock: l, lock: opened, end: end})
	return nil
}

// close closes all locks. A call that does not return ends with the program.
func (m *measured) close() {
	for _, c := range m.all {
		within(m.ctx, time.Second, func(context.Context) error {
			if closer, ok := c.lock.(io.Closer); ok {
				_ = closer.Close()
			}
			return c.end()
		})
	}
}

// errLate: a call has not returned.
var errLate = errors.New("it has not come back")

// within limits a call, with a second more for its return: some locks ignore their context.
func within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit + time.Second):
		return errLate
	}
}

// pair acquires and releases a separate key. A failed release is the table's concern, and does not end the measurement.
func (c *contender) pair(ctx context.Context) error {
	c.next++
	lease, err := c.lock.Acquire(ctx, fmt.Sprintf("%s-%d", c.Test, c.next))
	if err == nil {
		_ = lease.Release(ctx)
	}
	return err
}

// pairs is one lock's part of one round: one caller, separate keys.
func (m *measured) pairs(c *contender, counts bool) error {
	before, err := m.info()
	if err != nil {
		return err
	}
	began, n := time.Now(), 0
	for n == 0 && time.Since(began) < patience || time.Since(began) < m.length {
		if within(m.ctx, patience, c.pair) == nil { // a refusal takes time as well
			n++
		}
	}
	took := time.Since(began)
	after, err := m.info()
	if counts && n > 0 {
		c.rates = append(c.rates, float64(n)/took.Seconds())
		c.commands = append(c.commands, float64(after-before-int64(servers))/float64(n)) // without the INFOs
	}
	return errors.Join(err, m.flush(), m.ctx.Err())
}

// orphans counts the servers that still have the key after eight callers repeatedly tried to acquire it with a short
// timeout, and released it if they succeeded.
func (m *measured) orphans(c *contender) error {
	if err := m.flush(); err != nil {
		return err
	}
	until := time.Now().Add(2 * time.Second)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for time.Now().Before(until) {
				err := within(m.ctx, 20*time.Millisecond, func(ctx context.Context) error {
					lease, err := c.lock.Acquire(ctx, c.Test+"-contended")
					if err == nil {
						_ = lease.Release(context.WithoutCancel(ctx))
					}
					return err
				})
				if err != nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	callers.Wait()
	time.Sleep(settles)
	keys, err := m.count()
	c.left = keys
	return errors.Join(err, m.flush(), m.ctx.Err())
}

// hung measures one caller's wait for a key while the last of five servers hangs.
func (m *measured) hung(c *contender) error {
	if c.On != league.Several {
		return nil
	}
	last := servers - 1
	if err := m.servers.Pause(m.ctx, last); err != nil {
		return err
	}
	var waits []time.Duration
	var err error
	for began := time.Now(); len(waits) < 5 && err == nil && time.Since(began) < patience; {
		asked := time.Now()
		if err = within(m.ctx, patience, c.pair); err == nil {
			waits = append(waits, time.Since(asked))
		}
	}
	slices.Sort(waits)
	switch {
	case len(waits) > 0:
		c.hung = waits[len(waits)/2].Round(100 * time.Microsecond).String()
	case errors.Is(err, errLate):
		c.hung = fmt.Sprintf("not back after %v", patience+time.Second)
	default:
		c.hung = fmt.Sprintf("no lock in %v", patience)
	}
	return errors.Join(m.servers.Resume(context.WithoutCancel(m.ctx), last), m.flush(), m.ctx.Err())
}

// costs are the results for the page, by a lock's test.
func (m *measured) costs() map[string]league.Cost {
	bare := map[string]*contender{}
	for _, c := range m.all {
		bare[c.Test] = c
	}
	all := map[string]league.Cost{}
	for _, c := range m.all {
		of := bare[rawOnSeveral]
		if c.On == league.Single {
			of = bare[rawOnSingle]
		}
		cost := league.Cost{Commands: median(c.commands), Orphans: c.left, Hung: c.hung}
		if len(c.rates) > 0 && len(of.rates) > 0 {
			cost.Pairs = slices.Max(c.rates) // disturbances of the machine only slow it down
			cost.OfBare = cost.Pairs / slices.Max(of.rates)
		}
		all[c.Test] = cost
	}
	return all
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// info is the number of commands executed by all servers.
func (m *measured) info() (total int64, err error) {
	err = m.each(func(c *redis.Client) error {
		text, err := c.Info(m.ctx, "stats").Result()
		if err != nil {
			return err
		}
		_, after, _ := strings.Cut(text, "total_commands_processed:")
		number, _, _ := strings.Cut(after, "\r\n")
		n, err := strconv.ParseInt(number, 10, 64)
		total += n
		return err
	})
	return total, err
}

func (m *measured) count() (keys int64, err error) {
	err = m.each(func(c *redis.Client) error {
		n, err := c.DBSize(m.ctx).Result()
		keys += n
		return err
	})
	return keys, err
}

func (m *measured) flush() error {
	return m.each(func(c *redis.Client) error { return c.FlushAll(context.WithoutCancel(m.ctx)).Err() })
}

func (m *measured) each(do func(*redis.Client) error) error {
	var errs []error
	for _, addr := range m.servers.Addrs {
		c := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, Protocol: 2})
		errs = append(errs, do(c), c.Close())
	}
	return errors.Join(errs...)
}
