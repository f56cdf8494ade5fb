package proxy

import (
	"time"

	"lockproof/harness/cluster"
)

// FirstPort is the first port of the container on which links listen, and
// APIPort the one of the API. docker-compose.yml publishes both.
const (
	FirstPort = 7001
	APIPort   = 8474
)

// Run is what one run wants of the proxy: a link from every client to every
// server, and from every replica to its master. It ends the run before it.
type Run struct {
	// Epoch is the CLOCK_MONOTONIC reading at which the run began. Containers
	// share that clock with their host.
	Epoch   int64         `json:"epoch"`
	Delay   time.Duration `json:"delay,omitempty"` // one way, of every link
	Clients []string      `json:"clients"`
	// Servers gives each server's address in the project's network; "" for
	// one that is down.
	Servers map[string]string `json:"servers"`
	// Replicas gives the master of each of the servers that has one.
	Replicas map[string]string `json:"replicas,omitempty"`
	// Watched are the servers that Sentinels watch, over one link to each; Sentinels
	// gives the Sentinels' addresses. Every client has a link to each.
	Watched   []string          `json:"watched,omitempty"`
	Sentinels map[string]string `json:"sentinels,omitempty"`
	// Members are the servers that make one Redis Cluster. Each is reached at two ports
	// more, on which nothing happens to what passes: see ToMember and ToBus.
	Members []string `json:"members,omitempty"`
	// StallLimit is the lateness from which on the proxy reports a stall of
	// its own; 0: it does not.
	StallLimit time.Duration `json:"stall_limit,omitempty"`
}

// ToMember and ToBus stand for whoever reaches a member of a Redis Cluster past every link:
// at its port, and at the port of its bus, BusPort.
const (
	ToMember = "to-member"
	ToBus    = "to-bus"

	BusPort        = 16379
	PortsOfAMember = 2
)

// Process is the proxy's name in the history, for its stalls.
const Process = "toxiproxy"

// Path names a link.
type Path struct {
	Client string `json:"client"`
	Server string `json:"server"`
}

// Listening is the port of the container on which a link waits for its client.
type Listening struct {
	Path
	Port int `json:"port"`
}

// Moved says where a server is from now on; at "" it is down, and refuses.
type Moved struct {
	Server  string `json:"server"`
	Address string `json:"address"`
}

// Do is what can be done to a link: the methods of cluster.Link.
type Do string

// The methods. Intercept begins an intercept, and Intercepted asks what it has met;
// Measure begins a measurement, and Measured reads it.
const (
	DoCut         Do = "cut"
	DoHeal        Do = "heal"
	DoDelay       Do = "delay"
	DoIntercept   Do = "intercept"
	DoLetGo       Do = "let-go"
	DoCount       Do = "count"
	DoIntercepted Do = "intercepted"
	DoMeasure     Do = "measure"
	DoMeasured    Do = "measured"
)

// Order is one method with its arguments.
type Order struct {
	Path
	Do        Do                 `json:"do"`
	Direction cluster.Direction  `json:"direction,omitempty"`
	By        time.Duration      `json:"by,omitempty"`
	Intercept *cluster.Intercept `json:"intercept,omitempty"`
	Command   string             `json:"command,omitempty"`
	Number    int                `json:"number,omitempty"` // which intercept or measurement is read
}

// Result is what a method returns.
type Result struct {
	Held        int             `json:"held,omitempty"`
	Received    int             `json:"received,omitempty"`
	Answered    int             `json:"answered,omitempty"`
	Intercepted cluster.Met     `json:"intercepted,omitzero"`
	Number      int             `json:"number,omitempty"` // of an intercept or a measurement that has begun
	Traffic     cluster.Traffic `json:"traffic,omitzero"`
}

// Settled is how many events of the run there have been so far.
type Settled struct {
	Events int `json:"events"`
}

// Reading is a reading of the container's CLOCK_MONOTONIC.
type Reading struct {
	Monotonic int64 `json:"monotonic"`
}

// Retire announces that a server will end, and that its machine will be made as
// new before another server starts on it.
type Retire struct {
	Server string `json:"server"`
}

// Machine makes the machine of a server, which must be down or retired, as new: its
// disk is empty, its clock right, and these are its lines of redis.conf.
type Machine struct {
	Server   string `json:"server"`
	Settings string `json:"settings"`
	Small    bool   `json:"small,omitempty"`   // its disk is the small one, which can be filled
	Retired  bool   `json:"retired,omitempty"` // its server is on its way out: wait for its end
}

// SetClock lets a server's wall clock jump, and run at another rate from now on
// (0: as before).
type SetClock struct {
	Server string        `json:"server"`
	Jump   time.Duration `json:"jump,omitempty"`
	Rate   float64       `json:"rate,omitempty"`
}

// Shown is what a server's wall clock shows, in nanoseconds since 1970, whether
// the server runs or not.
type Shown struct {
	Now int64 `json:"now"`
}

// Disk slows the fsyncs of a server by so much, lets them fail, and lets writes
// find the disk full. All are as they should be at 0 and false.
type Disk struct {
	Server string        `json:"server"`
	Slow   time.Duration `json:"slow,omitempty"`
	Fail   bool          `json:"fail,omitempty"`
	Full   bool          `json:"full,omitempty"`
}

// CutPower cuts the files of a server, which must be down, to what it has synced.
type CutPower struct {
	Server string `json:"server"`
}

// Lost is how many bytes that took.
type Lost struct {
	Bytes int64 `json:"bytes"`
}
