package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockproof/harness/history"
)

// lookWithin bounds a look into a node. It is long even for a machine that has
// much else to do: what comes late can be judged, what does not come cannot.
const lookWithin = time.Second

// fencePrefix begins the names of fencing counters, which are no locks: they
// have no owner and must not expire.
const fencePrefix = "fence:"

// ask sends one command without arguments on a connection of its own, past
// every link, and returns the first line of the reply.
func (n *node) ask(ctx context.Context, command string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", n.addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// A context that ends closes the connection, and with it the read below.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return strings.TrimSpace(line), err
}

// direct calls f with a connection past every link, for one look only: a
// connection that is kept would not survive the node's next fault.
func (n *node) direct(f func(*redis.Client) error) error {
	client := redis.NewClient(&redis.Options{
		Addr:                  n.addr,
		MaxRetries:            -1,
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		Protocol:              2,
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	})
	return errors.Join(f(client), client.Close())
}

// serverInfo is what INFO says of a server.
type serverInfo struct {
	runID string
	pid   int
}

// serverOf asks the server who it is, and makes sure that it is that process
// which answers.
func (n *node) serverOf(ctx context.Context, p *process) (serverInfo, error) {
	var info serverInfo
	err := n.direct(func(client *redis.Client) error {
		text, err := client.Info(ctx, "server").Result()
		info = parseInfo(text)
		return err
	})
	if err == nil && info.pid != p.id.PID {
		err = fmt.Errorf("%w: process %d answers at %s, not %d", errClash, info.pid, n.addr, p.id.PID)
	}
	return info, err
}

// parseInfo reads the lines name:value of INFO.
func parseInfo(text string) serverInfo {
	var info serverInfo
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "run_id":
			info.runID = value
		case "process_id":
			info.pid, _ = strconv.Atoi(value) // 0 is no process's number
		}
	}
	return info
}

// Look reads the run id and the lock keys past every link. A node that is down
// or paused is not up; that is no error.
func (n *node) Look(ctx context.Context) (history.Node, error) {
	p, err := n.process()
	if err != nil || p.stopped() {
		return history.Node{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	var seen history.Node
	err = n.direct(func(client *redis.Client) error {
		var err error
		seen, err = look(ctx, client)
		return err
	})
	if err != nil && (!p.running() || p.stopped() || redis.IsLoadingError(err)) {
		return history.Node{}, nil // it went down or was paused meanwhile, or is not up yet
	}
	if err != nil {
		return history.Node{}, n.failed("look into", err)
	}
	return seen, nil
}

func look(ctx context.Context, client *redis.Client) (history.Node, error) {
	var info *redis.StringCmd
	var keys *redis.StringSliceCmd
	if _, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		info, keys = pipe.Info(ctx, "server"), pipe.Keys(ctx, "*")
		return nil
	}); err != nil {
		return history.Node{}, err
	}
	states, err := keyStates(ctx, client, keys.Val())
	return history.Node{Up: true, RunID: parseInfo(info.Val()).runID, Keys: states}, err
}

// keyStates reads each lock key's owner and time to live, all at one moment. A
// key that has expired since it was listed is left out; one that is not a
// string has no token.
func keyStates(ctx context.Context, client *redis.Client, keys []string) (map[string]history.KeyState, error) {
	tokens, ttls := map[string]*redis.StringCmd{}, map[string]*redis.DurationCmd{}
	pipe := client.TxPipeline()
	for _, key := range keys {
		if !strings.HasPrefix(key, fencePrefix) {
			tokens[key], ttls[key] = pipe.Get(ctx, key), pipe.PTTL(ctx, key)
		}
	}
	if len(tokens) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, err
	}
	states := map[string]history.KeyState{}
	for key, token := range tokens {
		// PTTL is -2 for a key that is not there and -1 for one without
		// expiry; go-redis passes both on as they are.
		if ttl := ttls[key].Val(); ttl != -2 {
			states[key] = history.KeyState{Token: token.Val(), TTL: int64(ttl)}
		}
	}
	return states, nil
}

// Flush is an operator's FLUSHALL. It returns once no key is left.
func (n *node) Flush(ctx context.Context) error {
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	n.op.Lock()
	defer n.op.Unlock()
	if _, err := n.awake(); err != nil {
		return n.failed("flush", err)
	}
	return n.failed("flush", n.direct(func(client *redis.Client) error {
		pipe := client.TxPipeline()
		pipe.FlushAll(ctx)
		left := pipe.DBSize(ctx)
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		if left.Val() != 0 {
			return fmt.Errorf("%d keys are left after FLUSHALL", left.Val())
		}
		return nil
	}))
}

// Clock reads the node's wall clock, in nanoseconds since the run began as that
// clock counts them. Of a node that is down it is the one that a server would
// have.
func (n *node) Clock(ctx context.Context) (int64, error) {
	if _, err := n.process(); err != nil && n.shim != nil {
		now, err := n.shim.Now()
		return now - n.c.wall, n.failed("read the clock of", err)
	}
	if _, err := n.awake(); err != nil {
		return 0, n.failed("read the clock of", err)
	}
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	now, err := n.time(ctx)
	if err != nil {
		return 0, n.failed("read the clock of", err)
	}
	return now.UnixNano() - n.c.wall, nil
}
