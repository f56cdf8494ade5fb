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
	ErrRestarted = errors.New("the server has started not long ago")
	errNoUptime  = errors.New("it does not tell its uptime, which the restart guard needs: allow INFO")
)

// uptime knows for how long a node's server has been up.
//
// A restart ends every connection. So a server whose uptime is known needs asking again only when there is a connection
// that was dialled since: a hook counts them. A yes counts if the same write brought the uptime of the server that gave
// it, or if by then no connection is newer than the last uptime; else the server is asked once more. Client libraries
// have ways to dial past a client's hooks: one made by WithTimeout shares its parent's connections. So as long as no
// dial has been seen, every SET asks.
type uptime struct {
	need    time.Duration // so long a server must have been up for
	dialled atomic.Int64  // connections so far
	covered atomic.Int64  // so many of them lead to a server that has been up for long enough; -1: none
	heard   atomic.Int64  // reading of the clock, in ns: the run was up then, or later

	mu    sync.Mutex    // of learn
	runID string        // of the run that answered last
	first time.Duration // reading when it had answered first: it began before
	after time.Duration // reading after which that run began, if began is set
	began bool          // in our time: another run was heard before it
}

func newUptime(need time.Duration) *uptime {
	u := &uptime{need: need}
	u.covered.Store(-1)
	u.heard.Store(math.MinInt64) // a clock's origin is arbitrary
	return u
}

// DialHook counts a connection once it stands, and before anything is sent on it.
func (u *uptime) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			u.dialled.Add(1)
		}
		return conn, err
	}
}

// ProcessHook leaves commands alone.
func (u *uptime) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook leaves pipelines alone.
func (u *uptime) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// sure reports whether the server is known to have been up for long enough on every connection that there is.
func (u *uptime) sure() bool {
	dialled := u.dialled.Load()
	return dialled > 0 && u.covered.Load() == dialled
}

// hear notes that the run which answered last was up at this reading, or later. The latest question counts.
func (u *uptime) hear(asked time.Duration) {
	for {
		before := u.heard.Load()
		if int64(asked) <= before || u.heard.CompareAndSwap(before, int64(asked)) {
			return
		}
	}
}

// decide says whether a server's word is good for a command that was carried out no longer than since before it was
// asked, with so many connections dialled, at these readings of the clock.
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

// learn returns for how long the server had been up, at least, when it was asked.
//
// Uptime is counted by the server's wall clock in whole seconds, and a clock that is stepped after the start makes it
// longer or shorter than it is. Our own clock knows better where we have heard this run before, which is as old as that
// at least; and where we have heard the one before this one, which began later.
func (u *uptime) learn(wall time.Duration, runID string, dialled int64, asked, answered time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if another := u.runID != runID; another || runID == "" {
		if another && u.runID != "" {
			u.after, u.began = time.Duration(u.heard.Load()), true
		}
		u.runID, u.first = runID, answered
	}
	up := max(wall-time.Second, asked-u.first)
	if u.began {
		up = min(up, answered-u.after)
	}
	u.hear(asked)
	if up >= u.need {
		u.covered.Store(max(u.covered.Load(), dialled))
	} else {
		u.covered.Store(-1)
	}
	return up
}
