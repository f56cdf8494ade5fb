package realcluster

import (
	"context"

	"example.org/lockproof/harness/cluster"
)

// Host runs the processes of one server: on this machine, or in a container. A node calls one method at a time.
type Host interface {
	// Where is the address for this process; "" while it is unknown.
	Where(context.Context) (address string, err error)
	State(context.Context) (State, error)
	// Run starts a server. It may return before the server answers.
	Run(context.Context) error
	// Kill sends SIGKILL, to the server's children too, and waits until the server is down.
	Kill(context.Context) error
	// AwaitExit waits for the server's exit and describes it; "" means status 0.
	AwaitExit(context.Context) (how string, err error)
	// Pause and Resume wait until they are in effect.
	Pause(context.Context) error
	Resume(context.Context) error
	// Shimmed returns nil if the server is, or at its next start will be, under its machine's shim; else an error about
	// the ability that needs it.
	Shimmed(*cluster.Ability) error
	// Log is the end of the server's log.
	Log(context.Context) string
}

// State is the state of a server's process.
type State struct {
	Down, Paused bool
	Exit         string // if Down: how it ended
}
