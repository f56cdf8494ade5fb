package lock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
)

// Servers are real redis-servers on loopback without persistence. They end with the program, and are recorded in case
// it is killed.
type Servers struct {
	Addrs  []string
	probes []*redis.Client // for measurements
	nodes  []*process.Process
	record *process.Record
}

// StartServers starts n servers and returns when all of them answer.
func StartServers(ctx context.Context, n int) (*Servers, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server, 7.0 or later, is needed (Debian: apt-get install redis-server): %w", err)
	}
	s := &Servers{}
	if s.record, err = process.NewRecord(); err != nil {
		return nil, err
	}
	for i := range n {
		if err := s.start(ctx, program, i); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Servers) start(ctx context.Context, program string, i int) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	name := "n" + strconv.Itoa(i+1)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir",
		s.record.Folder())
	node, err := process.Launch(name, cmd)
	if err != nil {
		return err
	}
	s.Addrs, s.nodes = append(s.Addrs, addr), append(s.nodes, node)
	s.probes = append(s.probes, clients([]string{addr})...)
	ctx, cancel := context.WithTimeout(ctx, process.Timeout)
	defer cancel()
	for {
		if _, err := realcluster.ReadInfo(ctx, addr); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s at %s does not answer: %w", name, addr, context.Cause(ctx))
		case <-node.Gone():
			return fmt.Errorf("%s at %s has ended: %s", name, addr, node.How())
		case <-time.After(time.Millisecond):
		}
	}
}

// freeAddr is a free address on loopback.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Close ends the servers and removes their folder.
func (s *Servers) Close() error {
	errs := []error{closeAll(s.probes)}
	for _, n := range s.nodes {
		errs = append(errs, n.Kill())
	}
	return errors.Join(append(errs, s.record.Remove())...)
}

// Pause stops a server, by index, until Resume.
func (s *Servers) Pause(ctx context.Context, node int) error { return s.nodes[node].Pause(ctx) }

// Resume continues a paused server.
func (s *Servers) Resume(ctx context.Context, node int) error { return s.nodes[node].Resume(ctx) }

// sweep counts the keys on all servers and removes them.
func (s *Servers) sweep(ctx context.Context) (keys int64, err error) {
	err = s.each(func(c *redis.Client) error {
		n, err := c.DBSize(ctx).Result()
		keys += n
		return errors.Join(err, c.FlushAll(ctx).Err())
	})
	return keys, err
}

// commands is the number of commands executed by all servers.
func (s *Servers) commands(ctx context.Context) (total int64, err error) {
	err = s.each(func(c *redis.Client) error {
		text, err := c.Info(ctx, "stats").Result()
		if err != nil {
			return err
		}
		_, after, _ := strings.Cut(text, "total_commands_processed:")
		n, err := strconv.ParseInt(strings.TrimSpace(after[:strings.IndexByte(after, '\n')]), 10, 64)
		total += n
		return err
	})
	return total, err
}

func (s *Servers) each(do func(*redis.Client) error) error {
	var errs []error
	for _, c := range s.probes {
		errs = append(errs, do(c))
	}
	return errors.Join(errs...)
}

// poolSize exceeds the number of callers, so that none waits for a connection.
const poolSize = 256

// clients makes a go-redis client for each server, as package redlock advises.
func clients(addrs []string) []*redis.Client {
	var all []*redis.Client
	for _, addr := range addrs {
		all = append(all, redis.NewClient(&redis.Options{
			Addr:                     addr,
			MaxRetries:               -1,
			ContextTimeoutEnabled:    true,
			PoolSize:                 poolSize,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}))
	}
	return all
}

func closeAll(all []*redis.Client) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
