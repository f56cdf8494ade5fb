package virtual

import (
	"context"
	"fmt"
	"time"
)

// occupation is what a script of another user makes of a node.
type occupation int

const (
	unoccupied occupation = iota
	silent                // it answers nothing: the script has not run for busy-reply-threshold
	answering             // it answers BUSY
)

// busyReply is Redis 7.0's.
const busyReply = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"

// allowedWhileBusy are the commands that Redis 7.0 carries out while a script is running (the
// flag allow_busy), of those that a node answers.
var allowedWhileBusy = map[string]bool{
	"AUTH": true, "HELLO": true, "QUIT": true, "MULTI": true, "DISCARD": true, "WATCH": true, "UNWATCH": true,
}

// Occupy lets another user's script run. Its end is the caller's to say: in virtual
// time a script takes as long as it is to take.
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
