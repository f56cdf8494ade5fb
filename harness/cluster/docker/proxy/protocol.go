package proxy

import (
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/history"
)

// APIPort is the port of the API.
const APIPort = 8474

// Moved says where a server is from now on; at "" it is down, and refuses.
type Moved struct {
	Server  string `json:"server"`
	Address string `json:"address"`
}

// Do is what can be done to a link: the methods of cluster.Link.
type Do string

// The methods. Read asks what an intercept has met, or a measurement seen.
const (
	DoCut       Do = "cut"
	DoHeal      Do = "heal"
	DoDelay     Do = "delay"
	DoIntercept Do = "intercept"
	DoLetGo     Do = "let-go"
	DoCount     Do = "count"
	DoMeasure   Do = "measure"
	DoRead      Do = "read"
)

// Order is one method with its arguments.
type Order struct {
	network.Path
	Do        Do                 `json:"do"`
	Direction history.Direction  `json:"direction,omitempty"`
	By        time.Duration      `json:"by,omitempty"`
	Intercept *cluster.Intercept `json:"intercept,omitempty"`
	Command   string             `json:"command,omitempty"`
	Number    int                `json:"number,omitempty"` // which intercept or measurement is read
}

// Result is what a method returns.
type Result struct {
	Held     int             `json:"held,omitempty"`
	Received int             `json:"received,omitempty"`
	Answered int             `json:"answered,omitempty"`
	Number   int             `json:"number,omitempty"` // of an intercept or a measurement that has begun
	Traffic  cluster.Traffic `json:"traffic,omitzero"`
}

// Machine makes the machine of a server, which must be down or retired, as new: its
// disk is empty, its clock right, and these are its lines of redis.conf.
type Machine struct {
	Server   string `json:"server"`
	Settings string `json:"settings"`
	Retired  bool   `json:"retired,omitempty"` // its server is on its way out: wait for its end
}

// SetClock lets a server's wall clock jump, and run at another rate from now on
// (0: as before).
type SetClock struct {
	Server string        `json:"server"`
	Jump   time.Duration `json:"jump,omitempty"`
	Rate   float64       `json:"rate,omitempty"`
}

// Disk is the faults of a server's disk.
type Disk struct {
	Server string `json:"server"`
	cluster.DiskFaults
}
