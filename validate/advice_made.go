package validate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockproof/validate/settings"
)

// edited makes a change in the question's files, reads them again, and compares. The error
// says why it has to be told in words.
func (a *Asker) edited(w wish) (*change, error) {
	switch {
	case a.Again == nil || w.guard && len(w.lines) == 0:
		return nil, errors.New("no file is given")
	case w.sleep > 0 && a.Policy.Given:
		return nil, errors.New("how long a node stays away was given with --restart-delay")
	}
	files, q := settings.Disk, a.Question
	var err error
	for _, line := range w.lines {
		if files, err = files.SetLine(line, q.Redis, q.Policy); err != nil {
			return nil, err
		}
		if q, err = a.Again(files); err != nil {
			return nil, err
		}
	}
	if w.sleep > 0 {
		if files, err = files.SleepFirst(w.sleep, q.Policy); err != nil {
			return nil, err
		}
		if q, err = a.Again(files); err != nil {
			return nil, err
		}
	}
	diff, err := files.Diff(a.Redis, a.Policy)
	if err != nil {
		return nil, err
	}
	c := &change{wish: w, Advice: Advice{File: strings.Join(diff.Files, ", "), Diff: &diff}, asker: *a}
	c.asker.Question = q
	if w.guard {
		c.asker.Guard, c.File, c.Lines = true, GuardedClients, []string{a.guard()}
	}
	return c, nil
}

// inWords makes a change of the settings in memory, and tells it in words: why is why it
// was not made in a file.
func (a *Asker) inWords(w wish, why error) *change {
	c := &change{wish: w, asker: *a}
	redis := applied(*a.Redis, w.lines)
	c.asker.Redis = &redis
	c.File, c.Lines = cmp.Or(a.settingsFile(), a.Policy.File, "redis.conf"), w.lines
	switch {
	case w.guard:
		c.Lines = []string{a.guard()}
		if len(w.lines) > 0 {
			c.Lines = append(append(c.Lines, "and in "+c.File+":"), w.lines...)
		}
		c.asker.Guard, c.File = true, GuardedClients
	case w.sleep > 0:
		c.File = cmp.Or(a.Policy.File, "whatever starts Redis")
		c.Lines = append(slices.Clone(w.lines), fmt.Sprintf("sleep %d before redis-server, at every start", w.sleep/time.Second))
		for _, limit := range []time.Duration{a.Policy.StartLimit, a.Policy.ProbeLimit} {
			if limit > 0 && w.sleep >= limit {
				c.Lines = append(c.Lines, fmt.Sprintf("and let the start take longer than that, in place of %s", limit))
			}
		}
		c.asker.Policy.Returns = maps.Clone(a.Policy.Returns)
		for crash := range c.asker.Policy.Returns {
			c.asker.Policy.Returns[crash] = settings.Return{After: w.sleep, Why: "the change"}
		}
	}
	if !w.guard && (a.Policy.Kind != "" || len(a.Redis.Files) > 0) {
		c.ByHand = why.Error()
	}
	return c
}

// applied are settings with lines of redis.conf that the advice may have.
func applied(r settings.Redis, lines []string) settings.Redis {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		switch name {
		case "appendonly":
			r.AppendOnly = value == "yes"
		case "appendfsync":
			r.AppendFsync = value
		case "no-appendfsync-on-rewrite":
			r.NoFsyncOnRewrite = value == "yes"
		case "maxmemory-policy":
			r.MaxMemoryPolicy = value
		}
	}
	return r
}

// settingsFile is the redis.conf that was read, or that the server is started with.
func (a *Asker) settingsFile() string {
	for _, file := range a.Redis.Files {
		if file != a.Policy.File {
			return file
		}
	}
	if a.Policy.Config != nil {
		return a.Policy.Config.Path
	}
	return ""
}

// guard is how a lock gets a restart guard for the longest TTL: a node that was down has no
// vote for so long.
func (a *Asker) guard() string {
	if a.Longest()%time.Second == 0 {
		return fmt.Sprintf("redlock.New(nodes, redlock.WithRestartGuard(%d*time.Second))", a.Longest()/time.Second)
	}
	return fmt.Sprintf("redlock.New(nodes, redlock.WithRestartGuard(%d*time.Millisecond))", a.Longest().Milliseconds())
}

// GuardedClients is where a restart guard is put, in place of a file.
const GuardedClients = "the code of all clients, where they use package redlock"
