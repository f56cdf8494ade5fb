package history

import (
	"encoding/json"
	"time"
)

// Asked is what was asked of a fault, as far as it takes it. JSON has every quantity as text.
type Asked struct {
	By        Duration  `json:"by,omitempty"`        // how much slower messages or fsyncs are
	Command   string    `json:"command,omitempty"`   // which commands: SET, take, ...
	Direction Direction `json:"direction,omitempty"` // of a link
	Error     string    `json:"error,omitempty"`     // with which a disk fails
	Jump      Duration  `json:"jump,omitempty"`      // of a clock
	Key       string    `json:"key,omitempty"`
	Lasts     Duration  `json:"lasts,omitempty"` // of what ends by itself
	MaxMemory int       `json:"maxmemory,omitempty,string"`
	Mistake   string    `json:"mistake,omitempty"` // an operator's
	Part      Part      `json:"part,omitempty"`    // of an exchange
	Rate      float64   `json:"rate,omitempty,string"`
	Times     int       `json:"times,omitempty,string"`
	To        string    `json:"to,omitempty"` // another node
}

// UnmarshalJSON passes over names that it does not know: a fault of somebody else's may have been asked for more.
func (a *Asked) UnmarshalJSON(text []byte) error {
	type plain Asked
	return json.Unmarshal(text, (*plain)(a))
}

// Direction is a way over a link.
type Direction string

// The directions: from the client to the node, and back.
const (
	Both     Direction = "both"
	ToNode   Direction = "to-node"
	ToClient Direction = "to-client"
)

// Part of an exchange between a client and a node.
type Part string

// The parts.
const (
	PartCommand Part = "command"
	PartReply   Part = "reply"
)

// What a command is to do to a lock's key. Take it if it is free, give it
// another time to live, remove it. What a script is to do shows when it is rehearsed.
// A command that is answered NOSCRIPT does nothing and is none of them.
const (
	Take    = "take"
	Extend  = "extend"
	Release = "release"
)

// Duration is a span of time, which JSON has as text: "1.5s".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes it as [time.Duration] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [time.ParseDuration] accepts.
func (d *Duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = Duration(read)
	return err
}
