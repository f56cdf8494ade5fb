package realcluster

import (
	"context"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Host is where one server runs: a process on this machine, or a container. A node calls one
// method at a time.
type Host interface {
	// Where is where this process and the network reach the server; "" if that is not known
	// yet.
	Where(context.Context) (address string, err error)
	State(context.Context) (State, error)
	// Run starts a server. It need not answer yet.
	Run(context.Context) error
	// Keep adds lines to the server's redis.conf, for its next start.
	Keep(lines string) error
	// Kill is SIGKILL. It returns once the server is seen to be down.
	Kill(context.Context) error
	// AwaitExit returns once the server has ended, and says how; "": in good order.
	AwaitExit(context.Context) (how string, err error)
	// Pause and Resume return once that is seen to be in effect.
	Pause(context.Context) error
	Resume(context.Context) error
	// PowerLoss kills the server and all that it has started, and cuts the files on its disk,
	// which has these faults, to what was synced.
	PowerLoss(context.Context, cluster.DiskFaults) (lost int64, err error)
	// SetClock lets the wall clock jump and run at another rate (0: as before), and gives
	// what it shows.
	SetClock(ctx context.Context, jump time.Duration, rate float64) (time.Time, error)
	// Disturb sets the faults of the disk, and counts what they have done so far.
	Disturb(context.Context, cluster.DiskFaults) (cluster.Disturbed, error)
	// Log is the end of what the server has said.
	Log(context.Context) string
}

// State is what a server's process does.
type State struct {
	Down, Paused bool
	Exit         string // how it ended, of one that is down
}

// Network is the links of a cluster.
type Network interface {
	Link(history.Link) cluster.Link
	// Move says where a server is from now on; at "" it is down, and refuses.
	Move(ctx context.Context, server, address string) error
	// Settle returns once all that has passed so far has been recorded.
	Settle() error
}
