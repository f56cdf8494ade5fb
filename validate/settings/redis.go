package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SavePoint is a snapshot rule: after a time, if enough keys changed.
type SavePoint struct {
	After   time.Duration `json:"after"` // nanoseconds
	Changes int           `json:"changes"`
}

// Redis has the settings of redis.conf that a lock's survival depends on.
type Redis struct {
	File             string      `json:"-"` // as the operator named it
	Files            []string    `json:"files,omitempty"`
	AppendOnly       bool        `json:"appendonly"`
	AppendFsync      string      `json:"appendfsync"` // always, everysec, no
	NoFsyncOnRewrite bool        `json:"no_appendfsync_on_rewrite"`
	Save             []SavePoint `json:"save"`
	MaxMemory        int64       `json:"maxmemory"` // bytes, 0: no limit
	MaxMemoryPolicy  string      `json:"maxmemory_policy"`
	MinReplicas      int         `json:"min_replicas_to_write"` // 0 also if a lag of 0 disables it
	MinLag           int         `json:"min_replicas_max_lag"`  // seconds
	// Directives are all lines in order, with included files in place.
	Directives []Directive `json:"-"`
	// Unknown are the lines that this package does not know: they may matter.
	Unknown []Directive `json:"unknown"`
	Remarks []Remark    `json:"remarks"`

	savesGiven  bool
	minReplicas int // as written
}

var (
	fsyncs   = []string{"always", "everysec", "no"}
	policies = []string{
		"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random",
		"volatile-ttl", "allkeys-lrm", "volatile-lrm",
	}
)

// Default returns the settings of a Redis that is started without a file.
func Default() *Redis {
	return &Redis{
		AppendFsync: "everysec", MaxMemoryPolicy: "noeviction", MinLag: 10,
		Save: []SavePoint{{time.Hour, 1}, {5 * time.Minute, 100}, {time.Minute, 10_000}},
	}
}

// ReadRedis reads redis.conf and its includes, or without a file returns Redis's defaults. It resolves relative
// includes beside the file. The error has every problem with its place.
func ReadRedis(file string) (*Redis, error) {
	r := &reader{base: filepath.Dir(file)}
	if file != "" {
		r.file(file, nil)
	}
	return r.redis(file)
}

// ParseRedis reads the text of a file; name stands for the file. It does not read includes: they stay unknown lines.
func ParseRedis(name, text string) (*Redis, error) {
	r := &reader{base: filepath.Dir(name), elsewhere: true, open: []string{name}}
	r.text(name, []byte(text))
	return r.redis(name)
}

// ParseLines parses lines beside a file ("appendfsync always"). It hides values that may be secret. It does not read
// includes: they stay lines.
func ParseLines(lines []string) ([]Directive, error) {
	r := &reader{elsewhere: true}
	for _, line := range lines {
		shown := line
		name, _, more := strings.Cut(strings.TrimSpace(line), " ")
		if d := (Directive{Name: strings.ToLower(name)}); more && (d.Secret() || !Known(d.Name)) {
			shown = name + " ..."
		}
		r.line(Place{File: fmt.Sprintf("--set %q", shown)}, line)
	}
	return r.directives, errors.Join(r.problems...)
}

func (r *reader) redis(file string) (*Redis, error) {
	s := Default()
	s.File = file
	return s.from(r)
}

// Apply adds directives that outrank the settings, as a server's command line
// does ("--appendonly yes").
func (s *Redis) Apply(directives []Directive) error {
	_, err := s.from(&reader{directives: directives})
	return err
}

func (s *Redis) from(r *reader) (*Redis, error) {
	for _, d := range r.directives {
		d.Name = current(d.Name)
		if !slices.Contains(s.Files, d.Place.File) && d.Place.Line > 0 {
			s.Files = append(s.Files, d.Place.File)
		}
		s.Directives = append(s.Directives, d)
		if problem := s.set(d); problem != nil {
			r.note(problem)
		}
	}
	if s.MinReplicas = s.minReplicas; s.MinLag == 0 { // checkGoodReplicasStatus in server.c
		s.MinReplicas = 0
	}
	s.Remarks = append(s.Remarks, r.remarks...)
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return s, nil
}

// decisive are the directives that set, others or the reader handles.
var decisive = strings.Fields(`appendonly no-appendfsync-on-rewrite appendfsync maxmemory-policy
	min-replicas-to-write min-replicas-max-lag maxmemory save dir include rename-command`)

// Known reports whether a directive is one of Redis's.
func Known(name string) bool {
	name = current(strings.ToLower(name))
	_, weighed := weighty[name]
	return weighed || slices.Contains(decisive, name) || harmless(name)
}

// set takes one directive; the last of a name counts, except for save.
func (s *Redis) set(d Directive) error {
	switch d.Name {
	case "appendonly":
		return d.yesNo(&s.AppendOnly)
	case "no-appendfsync-on-rewrite":
		return d.yesNo(&s.NoFsyncOnRewrite)
	case "appendfsync":
		return d.word(&s.AppendFsync, fsyncs)
	case "maxmemory-policy":
		return d.word(&s.MaxMemoryPolicy, policies)
	case "min-replicas-to-write":
		return d.number(&s.minReplicas)
	case "min-replicas-max-lag":
		return d.number(&s.MinLag)
	case "maxmemory":
		return d.memory(&s.MaxMemory)
	case "save":
		return s.save(d)
	case "dir":
		if _, err := d.one(); err != nil {
			return err
		}
	case "appendfilename", "appenddirname", "dbfilename": // each isValid... in config.c
		if name, err := d.one(); err != nil || strings.ContainsAny(name, `/\`) {
			return cmp.Or(err,
				d.problem(fmt.Sprintf("%s %s: Redis takes a name here, and no path", d.Name, name), "name the folder by dir"))
		}
	}
	s.others(d)
	return nil
}

const mostSaves = 100 // Redis's own file has three

// save adds snapshot rules. The first save line replaces the defaults, and
// save "" removes all rules so far (setConfigSaveOption in config.c).
func (s *Redis) save(d Directive) error {
	if len(d.Args) == 0 {
		return d.problem("save has no rule", `write save 3600 1, or save "" for none`)
	}
	if !s.savesGiven || len(d.Args) == 1 && d.Args[0] == "" {
		s.Save, s.savesGiven = nil, true
	}
	args := strings.Fields(strings.Join(d.Args, " ")) // a command line may have one word: --save "3600 1 300 100"
	const right = "give pairs of seconds and changes, as in save 3600 1 300 100"
	for pair := range slices.Chunk(args, 2) {
		seconds, err := strconv.Atoi(pair[0])
		if len(pair) < 2 || err != nil || seconds < 1 || seconds > 1e9 {
			return d.problem(fmt.Sprintf("%q is not a list of rules", strings.Join(d.Args, " ")), right)
		}
		changes, err := strconv.Atoi(pair[1])
		if err != nil || changes < 0 {
			return d.problem(fmt.Sprintf("%q is not a number of changes", pair[1]), right)
		}
		if len(s.Save) == mostSaves {
			return d.problem(fmt.Sprintf("there are more than %d rules", mostSaves), "give a few: the least of them count")
		}
		s.Save = append(s.Save, SavePoint{time.Duration(seconds) * time.Second, changes})
	}
	return nil
}

// At returns where a directive was set, the zero Place for a default.
func (s *Redis) At(name string) Place { return s.last(name).Place }

// Evicts reports whether Redis may remove a lock that has not expired.
func (s *Redis) Evicts() bool {
	return s.MaxMemory > 0 && s.MaxMemoryPolicy != "noeviction"
}

// Lines are the directives that decide whether a lock survives, with their
// values, as lines of redis.conf.
func (s *Redis) Lines() []string {
	saves := `save ""`
	if len(s.Save) > 0 {
		saves = "save"
		for _, p := range s.Save {
			saves += fmt.Sprintf(" %d %d", p.After/time.Second, p.Changes)
		}
	}
	lines := []string{saves, "appendonly " + yesNo(s.AppendOnly), "appendfsync " + s.AppendFsync,
		"no-appendfsync-on-rewrite " + yesNo(s.NoFsyncOnRewrite)}
	if s.MaxMemory > 0 {
		lines = append(lines, fmt.Sprintf("maxmemory %d", s.MaxMemory), "maxmemory-policy "+s.MaxMemoryPolicy)
	}
	if s.MinReplicas > 0 {
		lines = append(lines, fmt.Sprintf("min-replicas-to-write %d", s.MinReplicas),
			fmt.Sprintf("min-replicas-max-lag %d", s.MinLag))
	}
	return lines
}

// Replicates reports whether the settings name a master, replicas or Sentinels.
func (s *Redis) Replicates() bool {
	master, _ := s.Follows()
	return s.MinReplicas > 0 || master != "" || s.last("sentinel").Name != ""
}

func (s *Redis) last(name string) (found Directive) {
	for _, d := range slices.Backward(s.Directives) {
		if d.Name == name {
			return d
		}
	}
	return found
}

// Last is the only value of the last line of a directive, "" for none.
func (s *Redis) Last(name string) string {
	if d := s.last(name); len(d.Args) == 1 {
		return d.Args[0]
	}
	return ""
}

// Dir is the folder that the server writes to. Redis enters each dir as it reads it, so a relative one begins in the
// one before (setConfigDirOption in config.c).
func (s *Redis) Dir() (dir string) {
	for _, d := range s.Directives {
		if d.Name == "dir" && len(d.Args) == 1 && path.IsAbs(d.Args[0]) {
			dir = d.Args[0]
		} else if d.Name == "dir" && len(d.Args) == 1 {
			dir = path.Join(dir, d.Args[0])
		}
	}
	return dir
}

// Line is the last line of a directive, "" for none or for one with a secret.
func (s *Redis) Line(name string) string {
	if d := s.last(name); !d.Secret() {
		return d.String()
	}
	return ""
}

// Follows returns the server's master, "" if it has none, and where replicaof is set.
func (s *Redis) Follows() (master string, at Place) {
	d := s.last("replicaof")
	if len(d.Args) > 0 && weighty["replicaof"].counts(d) {
		master = d.Args[0]
	}
	return master, d.Place
}

// Harmless reports whether a directive does not affect whether a server remembers a lock, and does not place its data.
func Harmless(name string) bool {
	return harmless(name) &&
		!slices.Contains([]string{"dir", "appenddirname", "appendfilename", "dbfilename"}, name)
}

// Values are the values of Lines by name.
func (s *Redis) Values() map[string]string {
	all := map[string]string{}
	for _, line := range s.Lines() {
		name, value, _ := strings.Cut(line, " ")
		all[name] = value
	}
	return all
}

// Own are Values for a server in a trial of crashes, which has no replicas. An empty save rule before the save points
// removes the defaults.
func (s *Redis) Own() map[string]string {
	own := s.Values()
	delete(own, "min-replicas-to-write")
	delete(own, "min-replicas-max-lag")
	if len(s.Save) > 0 {
		own["save"] = "\"\"\nsave " + own["save"]
	}
	return own
}

func yesNo(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }

// FromConfigGet returns the settings that a running server reports. A name that this package does not know stays an
// unknown line.
func FromConfigGet(at Place, values map[string]string) (*Redis, error) {
	var directives []Directive
	for _, name := range slices.Sorted(maps.Keys(values)) {
		d := Directive{Place: at, Name: strings.ToLower(name), Args: []string{values[name]}}
		words, err := SplitWords(values[name])
		whole := d.Name == "dir" || d.Name == "save" || d.Secret()
		if current(d.Name) == "replicaof" || err == nil && len(words) > 0 && !whole {
			d.Args = words
		}
		directives = append(directives, d)
	}
	return Default().from(&reader{directives: directives})
}
