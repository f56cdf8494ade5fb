package realcluster

import (
	"context"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Host runs one server: in a process on this machine, or in a container. A node calls one method at a time.
type Host interface {
	// Where is the address for this process and the network; "" while it is unknown.
	Where(context.Context) (address string, err error)
	State(context.Context) (State, error)
	// Run starts a server. It may return before the server answers.
	Run(context.Context) error
	// Keep adds lines to the server's redis.conf, for its next start.
	Keep(lines string) error
	// Kill sends SIGKILL and waits until the server is down.
	Kill(context.Context) error
	// AwaitExit waits for the server's exit and describes it; "" means status 0.
	AwaitExit(context.Context) (how string, err error)
	// Pause and Resume wait until they are in effect.
	Pause(context.Context) error
	Resume(context.Context) error
	// PowerLoss kills the server and its children, and truncates the files on its disk, which has these faults, to their
	// synced length.
	PowerLoss(context.Context, cluster.DiskFaults) (lost int64, err error)
	// SetClock makes the wall clock jump, sets its rate (0 keeps it), and returns its reading.
	SetClock(ctx context.Context, jump time.Duration, rate float64) (time.Time, error)
	// Disturb sets the faults of the disk, and returns the counts of their effects so far.
	Disturb(context.Context, cluster.DiskFaults) (cluster.Disturbed, error)
	// Log is the end of the server's log.
	Log(context.Context) string
}

// State is the state of a server's process.
type State struct {
	Down, Paused bool
	Exit         string // if Down: how it ended
}

// Network is the links of a cluster.
type Network interface {
	Link(history.Link) cluster.Link
	// Move sets a server's new address; with "" its links refuse connections.
	Move(ctx context.Context, server, address string) error
	// Settle waits until all past messages are recorded.
	Settle() error
}
