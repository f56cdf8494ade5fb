package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock/server"
)

// Errors of a node whose server must not vote.
var (
	ErrRestarted = errors.New("the server has restarted recently")
	errNoUptime  = errors.New("no uptime, which the restart guard needs: allow INFO")
)

// uptime tracks how long a node's server has been up.
//
// A restart ends every connection. So a server with a known uptime needs INFO again only after a new dial; a hook
// counts dials. A yes counts if the same write returned the uptime of its server, or if no connection is newer than the
// last uptime; otherwise INFO is sent once more. Client libraries can dial past a client's hooks: a client made by
// WithTimeout shares its parent's connections. So until a dial is seen, every SET carries INFO.
type uptime struct {
	need    time.Duration // uptime from which a server may vote
	dialled atomic.Int64  // connections so far
	covered atomic.Int64  // value of dialled up to which all connections are verified; 0: none
	alive   atomic.Int64  // reading of the clock, in ns: the run was up then, or later

	mu    sync.Mutex    // held by learn
	runID string        // of the run that answered last
	first time.Duration // reading at its first answer: it began before
	after time.Duration // reading after which that run began, if began is set
	began bool          // an earlier run is known
}

func newUptime(need time.Duration) *uptime {
	u := &uptime{need: need}
	u.alive.Store(math.MinInt64) // a clock's origin is arbitrary
	return u
}

// DialHook counts a connection once it is established, and before anything is sent on it.
func (u *uptime) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			u.dialled.Add(1)
		}
		return conn, err
	}
}

// ProcessHook passes commands through.
func (u *uptime) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook passes pipelines through.
func (u *uptime) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// verified reports whether every connection leads to a server known to have been up for long enough.
func (u *uptime) verified() bool {
	dialled := u.dialled.Load()
	return dialled > 0 && u.covered.Load() == dialled
}

// recordAlive notes that the run which answered last was up at this reading or later. The latest reading counts.
func (u *uptime) recordAlive(asked time.Duration) {
	for {
		before := u.alive.Load()
		if int64(asked) <= before || u.alive.CompareAndSwap(before, int64(asked)) {
			return
		}
	}
}

// decide returns nil if the server's uptime covers a command that was carried out at most since before INFO was sent.
// dialled counts the connections then; asked and answered are the clock's readings around INFO.
func (u *uptime) decide(info *redis.StringCmd, dialled int64, asked, answered, since time.Duration) error {
	var refused redis.Error
	switch err := info.Err(); {
	case errors.As(err, &refused):
		return fmt.Errorf("%w (%v)", errNoUptime, err)
	case err != nil:
		return err
	}
	seconds, err := strconv.ParseInt(server.InfoField(info.Val(), "uptime_in_seconds"), 10, 32)
	if err != nil {
		return errNoUptime
	}
	wall := time.Duration(seconds) * time.Second // negative if the server's clock was set back since its start
	if up := u.learn(wall, server.InfoField(info.Val(), "run_id"), dialled, asked, answered) - since; up < u.need {
		return fmt.Errorf("%w: it has been up for %s, and may have forgotten keys until %s have passed", ErrRestarted,
			max(up, 0), u.need)
	}
	return nil
}

// learn returns a lower bound of the server's uptime when INFO was sent.
//
// The server counts uptime by its wall clock in whole seconds, and a step of that clock lengthens or shortens it. Our
// own clock gives better bounds: the run is at least as old as our first contact with it, and it began after our last
// contact with the run before it.
func (u *uptime) learn(wall time.Duration, runID string, dialled int64, asked, answered time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if another := u.runID != runID; another || runID == "" {
		if another && u.runID != "" {
			u.after, u.began = time.Duration(u.alive.Load()), true
		}
		u.runID, u.first = runID, answered
	}
	up := max(wall-time.Second, asked-u.first)
	if u.began {
		up = min(up, answered-u.after)
	}
	u.recordAlive(asked)
	if up >= u.need {
		u.covered.Store(max(u.covered.Load(), dialled))
	} else {
		u.covered.Store(0)
	}
	return up
}
