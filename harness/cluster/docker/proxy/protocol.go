package proxy

import (
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/history"
)

// APIPort is the port of the API.
const APIPort = 8474

// Call is one call of the API: from one JSON value to another, by POST to a path.
type Call[In, Out any] string

// none is the value of a call that has nothing to say.
type none = struct{}

// The calls.
const (
	// Clock reads the container's CLOCK_MONOTONIC.
	Clock Call[none, int64] = "/clock"

	// Begin begins a run, and says on which port of the container each link waits.
	Begin Call[network.Run, []network.Listening] = "/run"
	// End ends the run: links break. Its events can be asked for until the next begins.
	End Call[none, none] = "/end"
	// Events gives events of the run beyond the first so many, some at a time; none if there are no more so far.
	Events Call[int, []history.Event] = "/events"
	move   Call[moved, none]          = "/server"

	// The methods of cluster.Link. Those that begin something give its number, by which /link/traffic tells what an
	// intercept has affected, or a measurement seen.
	cut       Call[Order, none]            = "/link/cut"
	heal      Call[Order, none]            = "/link/heal"
	delay     Call[Order, none]            = "/link/delay"
	intercept Call[Order, int]             = "/link/intercept"
	letGo     Call[Order, int]             = "/link/let-go"
	count     Call[Order, [2]int]          = "/link/count"
	measure   Call[Order, int]             = "/link/measure"
	traffic   Call[Order, cluster.Traffic] = "/link/traffic"

	// Retire announces that a server will end, and that Renew will follow, with Retired.
	Retire Call[string, none] = "/machine/retire"
	// Renew makes the machine of a server as new. Of one that is retired it waits for the server's end, and another then
	// starts on it.
	Renew Call[Machine, none] = "/machine"
	// Keep adds to the settings of a server, for its next start.
	Keep Call[Machine, none] = "/machine/keep"
	// SetClock sets a server's wall clock, and gives what it shows, in nanoseconds since 1970.
	SetClock Call[ClockChange, int64] = "/machine/clock"
	// Disturb sets every fault of a server's disk, and says what they have done so far.
	Disturb Call[Disk, cluster.Disturbed] = "/machine/disk"
	// CutPower cuts the files of a server, which must be down, to what it has synced, and says how many bytes that took.
	CutPower Call[string, int64] = "/machine/power"
)

// moved says where a server is from now on; at "" it is down, and refuses.
type moved struct {
	Server  string `json:"server"`
	Address string `json:"address"`
}

// Order names a link, and has the arguments of its methods.
type Order struct {
	history.Link
	Direction history.Direction `json:"direction,omitempty"`
	By        time.Duration     `json:"by,omitempty"`
	Intercept cluster.Intercept `json:"intercept,omitzero"`
	Command   string            `json:"command,omitempty"`
	Number    int               `json:"number,omitempty"` // which intercept or measurement is read
}

// Machine makes the machine of a server, which must be down or retired, as new: its
// disk is empty, its clock right, and these are its lines of redis.conf.
type Machine struct {
	Server   string `json:"server"`
	Settings string `json:"settings"`
	Retired  bool   `json:"retired,omitempty"` // its server is on its way out: wait for its end
}

// ClockChange lets a server's wall clock jump, and run at another rate from now on
// (0: as before).
type ClockChange struct {
	Server string        `json:"server"`
	Jump   time.Duration `json:"jump,omitempty"`
	Rate   float64       `json:"rate,omitempty"`
}

// Disk is the faults of a server's disk.
type Disk struct {
	Server string `json:"server"`
	cluster.DiskFaults
}
