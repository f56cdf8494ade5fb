package realcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/harness/history"
)

// query sends one inline command on its own connection, and returns the reply's first line. The server may have the
// Password or none.
func query(ctx context.Context, addr, command string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// The end of ctx closes the connection, which ends the read below.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := fmt.Fprintf(conn, "AUTH %s\r\n%s\r\n", Password(), command); err != nil {
		return "", err
	}
	replies := bufio.NewReader(conn)
	line, err := replies.ReadString('\n') // the reply to AUTH: if it is an error, so is the next
	if err == nil {
		line, err = replies.ReadString('\n')
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return strings.TrimSpace(line), err
}

// withClient calls f with a new client of the server. A kept connection would not survive the server's next fault.
func withClient(addr string, f func(*redis.Client) error) error {
	client := connect(addr, 0)
	return errors.Join(f(client), client.Close())
}

// readFrom is withClient for an f with a result.
func readFrom[T any](addr string, f func(*redis.Client) (T, error)) (answer T, err error) {
	err = withClient(addr, func(client *redis.Client) error {
		answer, err = f(client)
		return err
	})
	return answer, err
}

// connect returns a client of the server. The command's context or readTimeout, whichever is sooner, bounds a reply;
// 0 means go-redis's default.
func connect(addr string, readTimeout time.Duration) *redis.Client {
	o := options(addr)
	o.ReadTimeout = readTimeout
	return redis.NewClient(o)
}

func options(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Password: Password(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, Protocol: 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Info is a part of a server's INFO.
type Info struct {
	RunID   string
	Product string // redis, valkey
	Version string // 7.0.15
}

// String is the product with its version.
func (i Info) String() string { return i.Product + " " + i.Version }

// ReadInfo reads a server's INFO.
func ReadInfo(ctx context.Context, addr string) (Info, error) {
	return readFrom(addr, func(client *redis.Client) (Info, error) {
		text, err := client.Info(ctx, "server").Result()
		return parseInfo(text), err
	})
}

// information reads the fields of INFO about memory, persistence and errors. A missing error counter means 0.
func information(ctx context.Context, client *redis.Client) (map[string]string, error) {
	text, err := client.Info(ctx, "memory", "stats", "persistence", "errorstats").Result()
	return fields(text), err
}

// fields reads the lines name:value of INFO.
func fields(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			all[name] = value
		}
	}
	return all
}

// number is a field with an integer; 0 if it is missing.
func number(info map[string]string, name string) int {
	n, _ := strconv.Atoi(info[name])
	return n
}

func parseInfo(text string) Info {
	f := fields(text)
	info := Info{RunID: f["run_id"], Product: "redis", Version: f["redis_version"]}
	// A fork has its own name and version; its redis_version is the Redis version with which it is compatible.
	if name := f["server_name"]; f[name+"_version"] != "" {
		info.Product, info.Version = name, f[name+"_version"]
	}
	return info
}

// look reads a server's run ID and lock keys.
func look(ctx context.Context, addr string) (history.Node, error) {
	return readFrom(addr, func(client *redis.Client) (history.Node, error) {
		pipe := client.Pipeline()
		info, keys := pipe.Info(ctx, "server", "cluster"), pipe.Keys(ctx, "*")
		if _, err := pipe.Exec(ctx); err != nil {
			return history.Node{}, err
		}
		read := keyStates
		if fields(info.Val())["cluster_enabled"] == "1" {
			read = memberStates
		}
		states, err := read(ctx, client, keys.Val())
		if err != nil {
			return history.Node{}, err
		}
		return history.Node{Up: true, RunID: parseInfo(info.Val()).RunID, Keys: states}, nil
	})
}

// keyStates reads each lock key's token and TTL, in one transaction. It skips a key that has expired since the listing;
// a key that is not a string has no token.
func keyStates(ctx context.Context, client *redis.Client, keys []string) (map[string]history.KeyState, error) {
	states, err := readStates(ctx, client.TxPipeline(), keys)
	if memoryFull(err) {
		return readStates(ctx, client.Pipeline(), keys)
	}
	return states, err
}

// memoryFull reports whether a transaction failed because the server's memory is full: then it queues no command, not
// even one that needs no memory.
func memoryFull(err error) bool { return redis.HasErrorPrefix(err, "EXECABORT") }

func readStates(ctx context.Context, pipe redis.Pipeliner, keys []string) (map[string]history.KeyState, error) {
	tokens, ttls := map[string]*redis.StringCmd{}, map[string]*redis.DurationCmd{}
	for _, key := range keys {
		if !strings.HasPrefix(key, history.FencePrefix) && !strings.HasPrefix(key, otherTenantPrefix) {
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
		// PTTL is -2 for a missing key and -1 for one without expiry; go-redis returns both unchanged.
		if ttl := ttls[key].Val(); ttl != -2 {
			states[key] = history.KeyState{Token: token.Val(), TTL: int64(ttl)}
		}
	}
	return states, nil
}

// flush sends FLUSHALL and checks that no key is left.
func flush(ctx context.Context, client *redis.Client) error {
	pipe := client.TxPipeline()
	pipe.FlushAll(ctx)
	left := pipe.DBSize(ctx)
	if _, err := pipe.Exec(ctx); memoryFull(err) {
		return client.FlushAll(ctx).Err()
	} else if err != nil {
		return err
	}
	if left.Val() != 0 {
		return fmt.Errorf("%d keys are left after FLUSHALL", left.Val())
	}
	return nil
}

// Dismiss shuts a server down without saving its data.
func Dismiss(ctx context.Context, addr string) error {
	return shutdown(ctx, addr, "SHUTDOWN NOSAVE NOW FORCE")
}

// shutdown sends a SHUTDOWN command. The server exits without a reply; a reply is a refusal.
func shutdown(ctx context.Context, addr, command string) error {
	reply, err := query(ctx, addr, command)
	var op *net.OpError
	switch {
	case err == nil:
		return fmt.Errorf("the server refused: %s", reply)
	case errors.Is(err, io.EOF) || errors.As(err, &op) && !op.Timeout():
		return nil // the server closed the connection
	}
	return err
}

func wallClock(ctx context.Context, addr string) (time.Time, error) {
	return readFrom(addr, func(client *redis.Client) (time.Time, error) { return client.Time(ctx).Result() })
}
