package virtual

import (
	"context"
	"fmt"
	"time"
)

// occupation is a node's reaction to commands while another user's script runs.
type occupation int

const (
	unoccupied occupation = iota
	silent                // no reply: the script has not yet run for busy-reply-threshold
	answering             // the reply is BUSY
)

// busyReply is Redis 7.0's.
const busyReply = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"

// allowedWhileBusy are the modelled commands that Redis 7.0 executes while a script is running (flag allow_busy).
var allowedWhileBusy = map[string]bool{
	"AUTH": true, "HELLO": true, "QUIT": true, "MULTI": true, "DISCARD": true, "WATCH": true, "UNWATCH": true,
}

// Occupy runs another user's script until the caller ends it.
func (n *Node) Occupy(_ context.Context, _ time.Duration, answers bool) (end func(context.Context) error, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil || n.paused {
		return nil, n.cannot("run a script on")
	}
	if n.script != unoccupied {
		return nil, fmt.Errorf("node %s cannot run a script: one is running", n.name)
	}
	n.advance()
	n.script = silent
	if answers {
		n.script = answering
	}
	starts := n.starts
	return func(context.Context) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.starts == starts && n.server != nil {
			n.script = unoccupied
			n.resumeTimers()
			n.scheduleExecutor()
		}
		return nil
	}, nil
}
