package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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
	sentinels []*ConfigFile // that Sentinels of the same file are started with
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

// sleepArgument is one argument of sleep(1).
var sleepArgument = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([smhd]?)$`)

var sleepUnits = map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// sleepTime is how long sleep(1) takes with these arguments.
func sleepTime(args []string) (time.Duration, bool) {
	var sum time.Duration
	for _, arg := range args {
		m := sleepArgument.FindStringSubmatch(arg)
		if m == nil {
			return 0, false
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || n > 1e6 {
			return 0, false
		}
		sum += time.Duration(n * float64(sleepUnits[m[2]]))
	}
	return sum, len(args) > 0
}

// commandLine is what a server's command says.
type commandLine struct {
	sleep     time.Duration // before the server begins
	overrides []Directive
	config    *ConfigFile // that it names, nil if it names none
	server    string      // the program, "" if it is not named
	script    bool        // of a shell
	unsure    string      // what of it could not be read
}

// sleepFirst is the shell's way to keep a server away at every start.
var sleepFirst = regexp.MustCompile(`^\s*sleep\s+([0-9.]+[smhd]?)\s*(?:&&|;)\s*(.*)$`)

// readCommand reads the words of a command.
func readCommand(at Place, words []string) commandLine {
	var c commandLine
	if len(words) == 0 {
		return c
	}
	name := filepath.Base(words[0])
	if (name == "sh" || name == "bash" || name == "ash") && len(words) == 3 && strings.HasPrefix(words[1],
		"-") && strings.HasSuffix(words[1], "c") {
		return readScript(at, words[2])
	}
	switch name {
	case "redis-server", "valkey-server":
		c.server, c.config, c.overrides = words[0], configFile(at, words[1:]), overrides(at, words[1:])
	case "docker-entrypoint.sh":
		return readCommand(at, words[1:])
	default:
		if strings.HasPrefix(words[0], "--") || strings.HasSuffix(words[0], ".conf") {
			c.config, c.overrides = configFile(at, words), overrides(at, words)
			return c
		}
		c.unsure = fmt.Sprintf("the command %s (%s) is not known, and may wait before it starts the server", name, at)
	}
	return c
}

// readScript reads a shell command that may sleep first.
func readScript(at Place, script string) commandLine {
	var c commandLine
	if m := sleepFirst.FindStringSubmatch(script); m != nil {
		c.sleep, _ = sleepTime(m[1:2])
		script = m[2]
	}
	words, err := splitWords(strings.TrimPrefix(strings.TrimSpace(script), "exec "))
	if err != nil || len(words) == 0 || strings.ContainsAny(script, "|&;<>$`\n") {
		c.unsure = fmt.Sprintf("the shell script (%s) is not read, and may wait or set more", at)
		return c
	}
	inner := readCommand(at, words)
	inner.script = true
	inner.sleep += c.sleep
	return inner
}

// configFile is the file that a server's arguments begin with.
func configFile(at Place, args []string) *ConfigFile {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	return &ConfigFile{Place: at, Path: args[0]}
}

// overrides reads "--appendonly yes --save 60 1" after an optional file.
func overrides(at Place, words []string) []Directive {
	var found []Directive
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "--") && len(word) > 2:
			found = append(found, Directive{Place: at, Name: strings.ToLower(word[2:])})
		case len(found) > 0:
			last := &found[len(found)-1]
			last.Args = append(last.Args, word)
		}
	}
	return found
}
