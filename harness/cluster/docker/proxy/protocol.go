package proxy

import (
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/history"
)

// APIPort is the port of the API.
const APIPort = 8474

// Call is the path of one call of the API: a POST of one JSON value, with another as result.
type Call[In, Out any] string

// none is an empty argument or result.
type none = struct{}

const (
	// Clock reads the container's CLOCK_MONOTONIC.
	Clock Call[none, int64] = "/clock"

	// Begin begins a run, and returns the container's port of each link.
	Begin Call[network.Run, []network.Listening] = "/run"
	// End ends the run and breaks its links. Its events can be read until the next run begins.
	End Call[none, none] = "/end"
	// Events returns some events of the run after the given number of events; none if there are no more yet.
	Events Call[int, []history.Event] = "/events"
	move   Call[moved, none]          = "/server"

	// The methods of cluster.Link. An intercept or a measurement returns its number, by which /link/traffic reads its
	// traffic.
	cut       Call[Order, none]            = "/link/cut"
	heal      Call[Order, none]            = "/link/heal"
	delay     Call[Order, none]            = "/link/delay"
	intercept Call[Order, int]             = "/link/intercept"
	letGo     Call[Order, int]             = "/link/let-go"
	count     Call[Order, [2]int]          = "/link/count"
	measure   Call[Order, int]             = "/link/measure"
	traffic   Call[Order, cluster.Traffic] = "/link/traffic"

	// Retire prepares a server's end. Renew with Retired must follow.
	Retire Call[string, none] = "/machine/retire"
	// Renew resets a server's machine. For a retired server it first waits for the end; then another server starts.
	Renew Call[Machine, none] = "/machine"
	// Keep appends to a server's settings, for its next start.
	Keep Call[Machine, none] = "/machine/keep"
	// SetClock sets a server's wall clock, and returns its reading in Unix nanoseconds.
	SetClock Call[ClockChange, int64] = "/machine/clock"
	// Disturb sets all faults of a server's disk, and returns the counts of their effects so far.
	Disturb Call[Disk, cluster.Disturbed] = "/machine/disk"
	// CutPower truncates the files of a server, which must be down, to their synced length, and returns the lost bytes.
	CutPower Call[string, int64] = "/machine/power"
)

// moved is a server's new address; with "" its links refuse connections.
type moved struct {
	Server  string `json:"server"`
	Address string `json:"address"`
}

// Order is a link and its method's arguments.
type Order struct {
	history.Link
	Direction history.Direction `json:"direction,omitempty"`
	By        time.Duration     `json:"by,omitempty"`
	Intercept cluster.Intercept `json:"intercept,omitzero"`
	Command   string            `json:"command,omitempty"`
	Number    int               `json:"number,omitempty"` // which intercept or measurement is read
}

// Machine resets the machine of a server, which must be down or retired, to an empty disk, a correct clock and these
// lines of redis.conf.
type Machine struct {
	Server   string `json:"server"`
	Settings string `json:"settings"`
	Retired  bool   `json:"retired,omitempty"` // wait for its server's end
}

// ClockChange makes a server's wall clock jump, and sets its rate (0 keeps it).
type ClockChange struct {
	Server string        `json:"server"`
	Jump   time.Duration `json:"jump,omitempty"`
	Rate   float64       `json:"rate,omitempty"`
}

// Disk has the faults of a server's disk.
type Disk struct {
	Server string `json:"server"`
	cluster.DiskFaults
}
