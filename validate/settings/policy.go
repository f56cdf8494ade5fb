package settings

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"time"

	"lockproof/internal/input"
)

// The kinds of files that say what brings a server back.
const (
	Systemd    = "systemd"
	Compose    = "compose"
	Kubernetes = "kubernetes"
)

// Return is how soon a server may be back after a crash.
type Return struct {
	// After is the shortest time for which it stays away, as promised; 0: it
	// may be back at once.
	After time.Duration `json:"after"` // nanoseconds
	Why   string        `json:"why"`   // one clause
	// Unsure says that it may be kept away for longer by something that could
	// not be read.
	Unsure string `json:"unsure,omitempty"`
}

// Policy is what brings a server back.
type Policy struct {
	Kind    string           `json:"kind,omitempty"` // systemd, compose, kubernetes, or "" where nothing was given
	File    string           `json:"file,omitempty"`
	Service string           `json:"service,omitempty"`
	Returns map[Crash]Return `json:"returns"`
	Remarks []Remark         `json:"remarks,omitempty"`
	// Given: the returns were given, whatever the file says.
	Given bool `json:"-"`
	// DropIn is the drop-in in which a unit is changed, "" for what is no unit's file.
	DropIn string `json:"-"`
	// SleepRefused says that a unit's NoExecPaths keep it from running Sleep.
	SleepRefused bool `json:"sleep_refused,omitempty"`
	// StartLimit is how long a unit's start may take before systemd ends it, and
	// ProbeLimit how long a container's before its liveness probe does; 0: no limit.
	StartLimit time.Duration `json:"start_limit,omitempty"`
	ProbeLimit time.Duration `json:"probe_limit,omitempty"`
	// Config is the redis.conf that the server's command names, nil if it names none.
	Config *ConfigFile `json:"-"`
	// Command is the server's command without the directives, as in
	// "redis-server /etc/redis/redis.conf".
	Command string `json:"-"`
	// Failover is what is known of replicas that may take the server's place, nil where
	// nothing speaks of any.
	Failover *Failover `json:"failover,omitempty"`
	// ByImage: the entrypoint of the container's image starts the command.
	ByImage bool `json:"-"`
	// Overrides are directives on the server's command line, which outrank its
	// file.
	Overrides []Directive `json:"-"`

	start     start
	store     storage
	sentinels []*ConfigFile // that Sentinels of the same file are started with
	others    []node        // servers of the same file
	// unread says what of the server's settings could not be read, and at is its place; "":
	// nothing. Whatever is found is then in doubt.
	unread   string
	unreadAt Place
	// nosave is where SHUTDOWN is told to save nothing.
	nosave Place
}

// notRead keeps the first reason for which a server's settings are not known.
func (p *Policy) notRead(at Place, why string) {
	if p.unread == "" {
		p.unread, p.unreadAt = why, at
	}
}

// Delayed is a policy that keeps a server away for so long after every crash.
func Delayed(delay time.Duration, why string) Policy {
	p := Policy{Returns: map[Crash]Return{}}
	for _, c := range Crashes {
		p.Returns[c] = Return{After: delay, Why: why}
	}
	return p
}

// ReadPolicy reads a systemd unit with the drop-ins beside it, a compose file or
// a Kubernetes workload. A service is named where there are several.
func (f Files) ReadPolicy(file, service string) (Policy, error) {
	data, err := f.read(file, input.Config)
	if err != nil {
		return Policy{}, unreadable(file, err)
	}
	dropIns, err := f.readDropIns(file)
	if err != nil {
		return Policy{}, unreadable(file+".d", err)
	}
	return f.parsePolicy(append([]source{{file, data}}, dropIns...), service)
}

// ParsePolicy is ReadPolicy for a text at hand.
func ParsePolicy(file string, data []byte, service string) (Policy, error) {
	return Disk.parsePolicy([]source{{file, data}}, service)
}

// source is a file and what is in it.
type source struct {
	file string
	data []byte
}

// parsePolicy reads a policy; more than one source are a unit and its drop-ins.
func (f Files) parsePolicy(sources []source, service string) (Policy, error) {
	for i, d := range sources {
		if bytes.IndexByte(d.data, 0) >= 0 {
			return Policy{}, &Problem{Place: Place{File: d.file}, What: "there is a zero byte, so this is no text", Right: wantedPolicy}
		}
		sources[i].data = bytes.TrimPrefix(d.data, []byte("\ufeff"))
	}
	first := sources[0]
	parse := func() (Policy, error) { return parseYAMLPolicy(first.file, first.data, service) }
	if isUnit(first.file, first.data) {
		parse = func() (Policy, error) { return parseUnit(sources) }
	}
	p, err := parse()
	if err == nil {
		p.failover(f, sources)
		p.changedWhileRunning(sources)
	}
	return p, err
}

// unreadable is what is wrong with a policy's file, or with one that is read for its sake.
func unreadable(file string, err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		file = in.Path
	}
	return &Problem{Place: Place{File: file}, What: "cannot be read: " + input.Cause(err).Error(), Right: wantedPolicy}
}

const wantedPolicy = "give a systemd unit (with [Service]), a compose file (with services:) or a Kubernetes workload (with kind:)"

var sectionLine = regexp.MustCompile(`(?m)^\s*\[[A-Za-z-]+\]\s*$`)

func isUnit(file string, data []byte) bool {
	switch filepath.Ext(file) {
	case ".service", ".conf":
		return true
	}
	return sectionLine.Match(data)
}
