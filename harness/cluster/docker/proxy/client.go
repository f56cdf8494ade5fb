package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// callTimeout bounds every call.
const callTimeout = 10 * time.Second

// Client calls a proxy's API.
type Client struct {
	base string
	http *http.Client

	mu     sync.Mutex
	failed error // the first failure of a call that cannot return it
}

// NewClient returns a client for the proxy's API at an address.
func NewClient(addr string) *Client {
	return &Client{base: "http://" + addr, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

// Close closes the client's idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Failed returns and clears the first failure of a call that could not return it.
func (c *Client) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed
	c.failed = nil
	return err
}

func (c *Client) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// Send makes a call.
func (path Call[In, Out]) Send(ctx context.Context, c *Client, in In) (out Out, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+string(path), bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return out, fmt.Errorf("the proxy does not answer: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return out, fmt.Errorf("the proxy refuses %s: %s", path, strings.TrimSpace(string(text)))
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&out); err != nil {
		return out, fmt.Errorf("the proxy's answer to %s: %w", path, err)
	}
	return out, nil
}

// Move sets a server's address; "" means down.
func (c *Client) Move(ctx context.Context, server, address string) error {
	_, err := move.Send(ctx, c, moved{server, address})
	return err
}

// Link returns a link.
func (c *Client) Link(name history.Link) cluster.Link { return &remote{c, name} }

// remote is a link in the proxy's container.
type remote struct {
	client *Client
	name   history.Link
}

func call[Out any](l *remote, method Call[Order, Out], o Order) (Out, error) {
	o.Link = l.name
	out, err := method.Send(context.Background(), l.client, o)
	if err != nil {
		err = fmt.Errorf("link %s: %w", l.name.Process(), err)
	}
	return out, err
}

// callInfallible is call for a method without an error result.
func callInfallible[Out any](l *remote, method Call[Order, Out], o Order) Out {
	out, err := call(l, method, o)
	if err != nil {
		l.client.note(err)
	}
	return out
}

func (l *remote) Cut(d history.Direction) error {
	_, err := call(l, cut, Order{Direction: d})
	return err
}

func (l *remote) Heal(d history.Direction) error {
	_, err := call(l, heal, Order{Direction: d})
	return err
}

func (l *remote) Delay(d history.Direction, by time.Duration) error {
	_, err := call(l, delay, Order{Direction: d, By: by})
	return err
}

func (l *remote) Intercept(i cluster.Intercept) (affected func() cluster.Traffic, err error) {
	number, err := call(l, intercept, Order{Intercept: i})
	return l.reader(number), err
}

// reader returns a function that reads an intercept or a measurement.
func (l *remote) reader(number int) func() cluster.Traffic {
	return func() cluster.Traffic { return callInfallible(l, traffic, Order{Number: number}) }
}

func (l *remote) LetGo() (held int, err error) { return call(l, letGo, Order{}) }

func (l *remote) Count(command string) (received, answered int) {
	counts := callInfallible(l, count, Order{Command: command})
	return counts[0], counts[1]
}

func (l *remote) Measure(d history.Direction) func() cluster.Traffic {
	return l.reader(callInfallible(l, measure, Order{Direction: d}))
}

// Await waits until the proxy answers.
func (c *Client) Await(ctx context.Context) error {
	var last error
	if err := realtime.Poll(ctx, 5*time.Millisecond, func() (bool, error) {
		_, last = Clock.Send(ctx, c, none{})
		return last == nil, nil
	}); err != nil {
		return last
	}
	return nil
}
