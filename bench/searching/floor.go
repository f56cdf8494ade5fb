package searching

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// seen is the traffic of a round's schedules.
type seen struct {
	histories [][]history.Event
	commands  int // arrived at nodes
	links     int // with at least one command
}

// traffic runs a round's schedules and keeps their traffic.
func traffic(ctx context.Context, children *suite.Children) (seen, error) {
	var s seen
	_, err := goThrough(ctx, children, 1, func(r suite.Result) {
		s.histories = append(s.histories, r.Events)
		reached := map[string]int64{} // by link; its commands are numbered
		for _, e := range r.Events {
			if e.Command != nil && strings.Contains(e.Process, ">") {
				reached[e.Process] = max(reached[e.Process], e.Command.Serial)
			}
		}
		s.links += len(reached)
		for _, n := range reached {
			s.commands += int(n)
		}
	})
	return s, err
}

// alone sends as many commands over as many connections by go-redis in virtual time, one bubble for each schedule. The
// connections reply at once.
func alone(s seen) (time.Duration, error) {
	links, commands := max(1, s.links/perRound), s.commands/max(1, s.links)
	began := time.Now()
	for range perRound {
		var failed error
		err := bubble.Run(func() {
			for range links {
				if failed = exchange(commands); failed != nil {
					return
				}
			}
		})
		if err != nil || failed != nil {
			return 0, errors.Join(failed, err)
		}
	}
	return time.Since(began), nil
}

// exchange sends a number of commands over one connection.
func exchange(commands int) error {
	client := redis.NewClient(&redis.Options{
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return &echo{}, nil },
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, PoolSize: 1, PipelinePoolSize: -1, Protocol: 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer client.Close()
	for range commands {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := client.Do(ctx, "set", "k1", "6ae6783f4fbde91b6eb88b73a48ed247dbe5882e", "nx", "px", "1000").Err()
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// echo is a connection with each reply available at once.
type echo struct{ answers bytes.Buffer }

func (c *echo) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("hello")) {
		c.answers.WriteString("-ERR unknown command\r\n") // like a server without HELLO
	} else {
		c.answers.WriteString("+OK\r\n")
	}
	return len(b), nil
}

func (c *echo) Read(b []byte) (int, error)       { return c.answers.Read(b) }
func (c *echo) Close() error                     { return nil }
func (c *echo) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *echo) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *echo) SetDeadline(time.Time) error      { return nil }
func (c *echo) SetReadDeadline(time.Time) error  { return nil }
func (c *echo) SetWriteDeadline(time.Time) error { return nil }
