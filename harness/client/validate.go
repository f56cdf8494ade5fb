package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/locks"
)

// commands lists every Do in the documentation's order.
var commands = []Do{DoAcquire, DoExtend, DoRelease, DoCheck, DoRead, DoWrite, DoWatch,
	DoLoop, DoStop, DoCancel, DoClock, DoStarve, DoFeed, DoExit}

// check validates the setup and finds its lock.
func (s Setup) check() (locks.Kind, error) {
	var missing []string
	if s.Name == "" {
		missing = append(missing, "name")
	}
	if len(s.Nodes) == 0 {
		missing = append(missing, "nodes")
	}
	if s.Store == "" {
		missing = append(missing, "store")
	}
	if s.Options.TTL <= 0 {
		missing = append(missing, "options.ttl (nanoseconds, above 0)")
	}
	if len(missing) > 0 {
		return locks.Kind{}, fmt.Errorf("setup of client %q: it lacks %s", s.Name, strings.Join(missing, ", "))
	}
	if s.FencedStore && s.CompareStore {
		return locks.Kind{}, fmt.Errorf("setup of client %s: fenced_store and compare_store exclude each other", s.Name)
	}
	if s.ReadsUnfenced && !s.FencedStore {
		return locks.Kind{}, fmt.Errorf("setup of client %s: reads_unfenced is for a fenced_store", s.Name)
	}
	kind, err := locks.Find(s.Lock)
	if err != nil {
		return locks.Kind{}, fmt.Errorf("setup of client %s: %w", s.Name, err)
	}
	return kind, nil
}

// check validates a command by itself.
func (cmd Command) check() error {
	if err := cmd.checkFields(); err != nil {
		return fmt.Errorf("command %d, %s: %w", cmd.Serial, cmd.Do, err)
	}
	return nil
}

func (cmd Command) checkFields() error {
	if cmd.Serial < 1 {
		return errors.New("serial: it counts from 1")
	}
	if cmd.Within < 0 {
		return fmt.Errorf("within: %s is below 0; 0 is no limit", cmd.Within)
	}
	if cmd.Thread != "" && cmd.Do.immediate() {
		return errors.New("thread: the command is to the client, not to one of its threads")
	}
	switch {
	case !slices.Contains(commands, cmd.Do):
		return fmt.Errorf("do: there is no such command; there are %s", list(commands))
	case cmd.Do == DoAcquire && cmd.Key == "":
		return errors.New("key is missing: want the key to lock")
	case cmd.Do == DoLoop:
		return cmd.Loop.check()
	case cmd.Do == DoClock:
		return cmd.Clock.check()
	}
	return nil
}

func (l *Loop) check() error {
	switch {
	case l == nil:
		return errors.New("loop: it is missing: {\"keys\":[...],\"hold\":ns,\"think\":ns}")
	case len(l.Keys) == 0:
		return errors.New("loop.keys: at least one key is needed")
	case l.Hold < 0 || l.Think < 0:
		return fmt.Errorf("loop: hold %s and think %s must not be below 0", l.Hold, l.Think)
	}
	return nil
}

func (s *SetClock) check() error {
	switch {
	case s == nil:
		return errors.New("clock: it is missing: {\"jump\":ns,\"rate\":r}")
	case s.Rate < 0 || s.Rate > 0 && (s.Rate < 0.01 || s.Rate > 100):
		return fmt.Errorf("clock.rate: %g: a rate from 0.01 to 100 is right, or 0 for the rate as before", s.Rate)
	}
	return nil
}

func list(dos []Do) string {
	names := make([]string, len(dos))
	for i, d := range dos {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}
