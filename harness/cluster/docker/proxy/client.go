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
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// callTimeout bounds every call.
const callTimeout = 10 * time.Second

// Client speaks to a proxy.
type Client struct {
	base string
	http *http.Client

	mu     sync.Mutex
	failed error // the first failure of a call that cannot return it
}

// NewClient makes a client of the proxy whose API is at an address.
func NewClient(addr string) *Client {
	return &Client{base: "http://" + addr, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

// Close gives up the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Failed is the first failure of a call that could not return it. It is
// forgotten thereby.
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

// Send makes a call of a proxy.
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
	if err := json.NewDecoder(io.LimitReader(res.Body, longestBody)).Decode(&out); err != nil {
		return out, fmt.Errorf("the proxy's answer to %s: %w", path, err)
	}
	return out, nil
}

// Move says where a server is; "" says that it is down.
func (c *Client) Move(ctx context.Context, server, address string) error {
	_, err := move.Send(ctx, c, moved{server, address})
	return err
}

// Link is the link of that path.
func (c *Client) Link(p network.Path) cluster.Link { return &remote{c, p} }

// remote is a link in the container.
type remote struct {
	client *Client
	path   network.Path
}

func (l *remote) order(o Order) (Result, error) {
	o.Path = l.path
	r, err := obey.Send(context.Background(), l.client, o)
	if err != nil {
		return r, fmt.Errorf("link %s>%s: %w", l.path.Client, l.path.Server, err)
	}
	return r, nil
}

// ask is order for a method that has no error to return.
func (l *remote) ask(o Order) Result {
	r, err := l.order(o)
	if err != nil {
		l.client.note(err)
	}
	return r
}

func (l *remote) Cut(d history.Direction) error {
	_, err := l.order(Order{Do: DoCut, Direction: d})
	return err
}

func (l *remote) Heal(d history.Direction) error {
	_, err := l.order(Order{Do: DoHeal, Direction: d})
	return err
}

func (l *remote) Delay(d history.Direction, by time.Duration) error {
	_, err := l.order(Order{Do: DoDelay, Direction: d, By: by})
	return err
}

func (l *remote) Intercept(i cluster.Intercept) (met func() cluster.Traffic, err error) {
	begun, err := l.order(Order{Do: DoIntercept, Intercept: &i})
	return l.reader(begun), err
}

// reader reads an intercept or a measurement that has begun.
func (l *remote) reader(begun Result) func() cluster.Traffic {
	return func() cluster.Traffic { return l.ask(Order{Do: DoRead, Number: begun.Number}).Traffic }
}

func (l *remote) LetGo() (held int, err error) {
	r, err := l.order(Order{Do: DoLetGo})
	return r.Held, err
}

func (l *remote) Count(command string) (received, answered int) {
	r := l.ask(Order{Do: DoCount, Command: command})
	return r.Received, r.Answered
}

func (l *remote) Measure(d history.Direction) func() cluster.Traffic {
	return l.reader(l.ask(Order{Do: DoMeasure, Direction: d}))
}

// Await returns once the proxy answers.
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
