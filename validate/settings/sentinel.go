package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ReadSentinel reads how soon the Sentinels of a sentinel.conf promote a replica: not before
// a master has been silent for down-after-milliseconds, by Redis's default 30 s.
func (f Files) ReadSentinel(file string, replicas int) (*Failover, error) {
	r := &reader{disk: f, base: filepath.Dir(file)}
	r.file(file, nil)
	return r.watching(file, replicas)
}

// downAfterDefault is what Redis's Sentinel waits for where it is not told.
const downAfterDefault = 30 * time.Second

// watching is what the directives that were read say of a Sentinel.
func (r *reader) watching(file string, replicas int) (*Failover, error) {
	if len(r.problems) > 0 {
		return nil, r.problems[0]
	}
	found := PromotedAtOnce(replicas)
	masters, told := map[string]bool{}, map[string]bool{}
	for _, d := range r.directives {
		if d.Name != "sentinel" || len(d.Args) < 2 {
			continue
		}
		switch strings.ToLower(d.Args[0]) {
		case "monitor":
			masters[d.Args[1]] = true
		case "down-after-milliseconds":
			told[d.Args[1]] = true
		}
		found.sentinels(d.Place.String(), strings.Join(d.Args, " "))
	}
	if len(masters) == 0 {
		return nil, &Problem{Place: Place{File: file}, What: "no line says sentinel monitor, so this is no Sentinel's file",
			Right: "give the sentinel.conf"}
	}
	for name := range masters { // it may be any that the lock is on
		if !told[name] && (found.After == 0 || found.After > downAfterDefault) {
			found.After, found.Why = downAfterDefault, fmt.Sprintf("Sentinel waits for down-after-milliseconds, %s by default (%s)", downAfterDefault, file)
		}
	}
	return found, nil
}

// sentinelFile is the file that a Sentinel's command names, nil for what is none.
func sentinelFile(at Place, entry, args any) *ConfigFile {
	first, _ := words(entry)
	second, _ := words(args)
	all := append(first, second...)
	if len(all) > 0 && all[0] == "docker-entrypoint.sh" {
		all = all[1:]
	}
	if len(all) < 2 || strings.HasPrefix(all[1], "-") || downAfter.MatchString(strings.Join(all, " ")) { // which outranks a file
		return nil
	}
	switch filepath.Base(all[0]) {
	case "redis-sentinel", "valkey-sentinel":
		return &ConfigFile{Place: at, Path: all[1]}
	case "redis-server", "valkey-server":
		if slices.Contains(all, "--sentinel") {
			return &ConfigFile{Place: at, Path: all[1]}
		}
	}
	return nil
}

// watched takes what a Sentinel's own file says. Of several Sentinels, the one that waits for
// the least counts, and one whose file cannot be read may not wait at all.
func (f *Failover) watched(disk Files, c *ConfigFile) {
	r := &reader{disk: disk}
	name := c.File
	switch {
	case c.Name != "":
		name, r.elsewhere = c.Name, true
		r.text(c.Name, []byte(c.Text))
	case c.File != "":
		r.base = filepath.Dir(c.File)
		r.file(c.File, nil)
	default:
		f.After, f.Why = 0, fmt.Sprintf("a Sentinel is started with %s, which was not read%s", c.Path, c.because())
		f.unread = true
		return
	}
	found, err := r.watching(name, f.Replicas)
	switch {
	case err != nil:
		f.After, f.Why, f.unread = 0, "of a Sentinel's file, "+err.Error(), true
	case !f.unread && (f.After == 0 || found.After < f.After):
		f.After, f.Why = found.After, found.Why
	}
}

// because is why a file was not read, in brackets, "" if nobody can tell.
func (c *ConfigFile) because() string {
	if c.Lack == "" {
		return ""
	}
	return " (" + c.Lack + ")"
}
