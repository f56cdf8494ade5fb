package history

import (
	"encoding/json"
	"time"
)

// Asked are a fault's requested parameters. JSON has every quantity as text.
type Asked struct {
	By        Duration  `json:"by,omitempty"`        // delay of messages or fsyncs
	Command   string    `json:"command,omitempty"`   // affected commands: SET, take, ...
	Direction Direction `json:"direction,omitempty"` // of a link
	Error     string    `json:"error,omitempty"`     // of a disk
	Jump      Duration  `json:"jump,omitempty"`      // of a clock
	Key       string    `json:"key,omitempty"`
	Lasts     Duration  `json:"lasts,omitempty"` // of a fault that ends by itself
	MaxMemory int       `json:"maxmemory,omitempty,string"`
	Mistake   string    `json:"mistake,omitempty"` // an operator's
	Part      Part      `json:"part,omitempty"`    // of an exchange
	Rate      float64   `json:"rate,omitempty,string"`
	Times     int       `json:"times,omitempty,string"`
	To        string    `json:"to,omitempty"` // another node
}

// UnmarshalJSON ignores unknown names: another harness's fault may have more parameters.
func (a *Asked) UnmarshalJSON(text []byte) error {
	type plain Asked
	return json.Unmarshal(text, (*plain)(a))
}

// Direction is a direction of a link.
type Direction string

// The directions.
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

// Classes of commands by their intended effect on a lock's key: set it if it is free, change its expiry, delete it. A
// script's class is found by a dry run. A command with the reply NOSCRIPT has no class.
const (
	Take    = "take"
	Extend  = "extend"
	Release = "release"
)

// Duration is a time.Duration with a JSON text: "1.5s".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns the text of a [time.Duration].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [time.ParseDuration] accepts.
func (d *Duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = Duration(read)
	return err
}
