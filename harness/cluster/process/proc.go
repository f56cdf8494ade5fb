package process

import "errors"

// Identity tells one process from all others, also from one that gets its
// number later: no two processes of one number start at the same time.
type Identity struct {
	PID int `json:"pid"`
	// Started is when it started, in clock ticks since boot (field 22 of /proc/PID/stat).
	Started string `json:"started"`
	// Command is the program's name, as the system shortens it.
	Command string `json:"command"`
}

// errGone says that there is no process of that number.
var errGone = errors.New("there is no such process")

// Alive says whether that very process still runs. One that has ended and was
// not reaped (a zombie) does not.
func (id Identity) Alive() bool {
	now, err := identify(id.PID)
	return err == nil && now == id && !dead(id.PID)
}
