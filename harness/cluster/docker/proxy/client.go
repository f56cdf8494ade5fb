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

// callTimeout bounds every call but the stream of events.
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

// call sends one JSON value and reads another; nil leaves out either.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the proxy does not answer: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return fmt.Errorf("the proxy refuses %s %s: %s", method, path, strings.TrimSpace(string(text)))
	}
	answer := io.LimitReader(res.Body, longestBody)
	if out == nil {
		_, err = io.Copy(io.Discard, answer)
	} else {
		err = json.NewDecoder(answer).Decode(out)
	}
	if err != nil {
		return fmt.Errorf("the proxy's answer to %s %s: %w", method, path, err)
	}
	return nil
}

// Clock reads the container's CLOCK_MONOTONIC.
func (c *Client) Clock(ctx context.Context) (now int64, err error) {
	err = c.call(ctx, http.MethodGet, "/clock", nil, &now)
	return now, err
}

// Begin begins a run, and says on which port of the container each link waits.
func (c *Client) Begin(ctx context.Context, run network.Run) (list []network.Listening, err error) {
	err = c.call(ctx, http.MethodPost, "/run", run, &list)
	return list, err
}

// End ends the run: links break. Its events can be asked for until the next begins.
func (c *Client) End(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "/run", nil, nil)
}

// Events gives events of the run beyond the first so many, some at a time; none if there are
// no more so far.
func (c *Client) Events(ctx context.Context, seen int) (events []history.Event, err error) {
	err = c.call(ctx, http.MethodPost, "/events", seen, &events)
	return events, err
}

// Move says where a server is; "" says that it is down.
func (c *Client) Move(ctx context.Context, server, address string) error {
	return c.call(ctx, http.MethodPost, "/server", Moved{server, address}, nil)
}

// Retire announces that a server will end, and that Succeed will follow.
func (c *Client) Retire(ctx context.Context, server string) error {
	return c.call(ctx, http.MethodPost, "/machine/retire", server, nil)
}

// Succeed makes the machine of a retired server as new once that server has ended;
// another then starts on it.
func (c *Client) Succeed(ctx context.Context, m Machine) error {
	m.Retired = true
	return c.Renew(ctx, m)
}

// Renew makes the machine of a server, which must be down, as new.
func (c *Client) Renew(ctx context.Context, m Machine) error {
	return c.call(ctx, http.MethodPost, "/machine", m, nil)
}

// Keep adds to the settings of a server, for its next start.
func (c *Client) Keep(ctx context.Context, m Machine) error {
	return c.call(ctx, http.MethodPost, "/machine/keep", m, nil)
}

// SetClock lets a server's wall clock jump, and run at another rate (0: as
// before). It gives what the clock shows.
func (c *Client) SetClock(ctx context.Context, server string, jump time.Duration, rate float64) (time.Time, error) {
	var shown int64 // in nanoseconds since 1970
	err := c.call(ctx, http.MethodPost, "/machine/clock", SetClock{server, jump, rate}, &shown)
	return time.Unix(0, shown), err
}

// Disturb sets every fault of a server's disk, and says what they have done so
// far.
func (c *Client) Disturb(ctx context.Context, d Disk) (cluster.Disturbed, error) {
	var done cluster.Disturbed
	err := c.call(ctx, http.MethodPost, "/machine/disk", d, &done)
	return done, err
}

// CutPower cuts the files of a server, which must be down, to what it has synced,
// and says how many bytes that took.
func (c *Client) CutPower(ctx context.Context, server string) (lost int64, err error) {
	err = c.call(ctx, http.MethodPost, "/machine/power", server, &lost)
	return lost, err
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
	var r Result
	if err := l.client.call(context.Background(), http.MethodPost, "/link", o, &r); err != nil {
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
		_, last = c.Clock(ctx)
		return last == nil, nil
	}); err != nil {
		return last
	}
	return nil
}
