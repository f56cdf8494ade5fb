package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

// The kinds of input that describe a server.
const (
	Systemd    = "systemd"
	Compose    = "compose"
	Kubernetes = "kubernetes"
	Container  = "docker inspect"
	Running    = "running server"
	ConfigOnly = "redis.conf"
)

// Return is how soon a server may be back after a crash.
type Return struct {
	After time.Duration `json:"after"` // nanoseconds, the shortest; 0: at once
	Why   string        `json:"why"`   // one clause
}

// Server is one server of a deployment.
type Server struct {
	Chain
	Name     string                    `json:"name"`
	Workload string                    `json:"workload,omitempty"` // the container's Kubernetes workload
	Kind     string                    `json:"kind"`
	Place    settings.Place            `json:"place"`
	Returns  map[settings.Crash]Return `json:"returns"`
	Redis    *settings.Redis           `json:"settings"`
	Software Software                  `json:"-"`
	// Unread: the settings are Redis's defaults, because this server's are not known.
	Unread bool `json:"unread,omitempty"`
	// CommandPlace and ConfigPath locate its options and its file, for advice.
	CommandPlace settings.Place `json:"-"`
	ConfigPath   string         `json:"-"`

	dataLinks []Link // the data links that do not depend on its settings

	config    *configFile
	program   string          // its path, "" if its image supplies it
	given     *settings.Redis // from a redis.conf among the inputs
	labels    map[string]any  // of its pod
	workload  item            // its pod's
	overrides []settings.Directive
	folder    string // its working directory, "" if unknown
	mounts    []mount
	jobs      []textFile // other programs of its machine
	unmounted loss       // for data on no mount
	count     int        // of containers or pods; 0: one, -1: unknown
	unit      *unit
	aliases   []string // its network names
	forking   bool     // its supervisor waits for it to go into the background
}

// mount is a mounted folder.
type mount struct {
	at       settings.Place
	target   string
	loss     loss
	source   string // the mounted folder of the machine or the engine, "" for a private one
	readOnly bool
	variable bool                             // its source or its target has a variable
	unit     bool                             // a mount of the machine
	own      bool                             // every container has it
	each     bool                             // each of several pods has its own
	load     func(c *configFile, file string) // finds a file in it
}

// mountOf is the mount that has a folder: the nearest above it, nil for none.
func (s *Server) mountOf(dir string) (found *mount) {
	for i, m := range s.mounts {
		if _, below := relative(dir, m.target); below &&
			(found == nil || len(path.Clean(m.target)) >= len(path.Clean(found.target))) {
			found = &s.mounts[i]
		}
	}
	return found
}

// dir is the folder that the server writes to, "" or relative if that is not known.
func (s *Server) dir() string {
	dir := s.Redis.Dir()
	if !path.IsAbs(dir) && s.folder != "" {
		return path.Join(s.folder, dir)
	}
	return dir
}

// Command is the server's program and its redis.conf, as a command names them.
func (s *Server) Command() string {
	return strings.TrimSpace(cmp.Or(s.program, "redis-server") + " " + s.ConfigPath)
}

func (s *Server) persists() bool { return s.Redis.AppendOnly || len(s.Redis.Save) > 0 }

// onMachine reports whether the server sees the machine's own files, not a container's.
func (s *Server) onMachine() bool {
	return s.Kind != Kubernetes && s.Kind != Compose && s.Kind != Container
}

// Changed is the server with a change. Its data are judged again.
func (s *Server) Changed(change func(*Server)) *Server {
	changed, redis := *s, *s.Redis
	changed.Redis, changed.Returns = &redis, maps.Clone(s.Returns)
	change(&changed)
	changed.Links = slices.Concat(slices.DeleteFunc(slices.Clone(s.Links),
		func(l Link) bool { return l.Name == Data }), s.dataLinks)
	changed.judgeData()
	return &changed
}

// judgeData judges the server's data in each crash, by its settings and the folder that it writes to.
func (s *Server) judgeData() {
	if s.unknownProgram() {
		return // where it writes is not known either
	}
	s.otherPrograms()
	s.dataLinks = slices.DeleteFunc(slices.Clone(s.Links), func(l Link) bool { return l.Name != Data })
	dir := s.dir()
	switch {
	case !s.persists():
		s.establish(Data, s.Place, "nothing is written, so that nothing outlives a crash")
	case (s.Kind == Running || s.Kind == ConfigOnly) && s.mountOf(dir) == nil:
		f := loss{} // for the working directory
		if path.IsAbs(dir) || strings.ContainsAny(dir, "$~%") {
			f = onMachine(dir)
		}
		s.assume(Data, s.Place, "the server runs in no container, with which its data would go")
		s.onDisk(dir, f, s.Place)
	case !path.IsAbs(dir) || strings.Contains(dir, "$"):
		s.unknown(Data, s.Place, "which folder the server writes to, which its image or a variable says",
			"be on no volume: set dir")
	default:
		f, at := s.unmounted, s.Place
		if m := s.mountOf(dir); m != nil {
			f, at = m.loss, m.at
			if s.inPlace(dir) && isBelow(dir, cleaned) {
				f = onMachine(dir)
			}
			if m.readOnly {
				s.doubt(Data, at, dir+" is read-only, so that nothing can be saved there")
			}
		} else if s.onMachine() {
			f = onMachine(dir)
		}
		s.onDisk(dir, f, at)
		if s.unit != nil {
			s.unit.writes(s, dir)
		}
	}
	if s.Redis.AppendOnly {
		s.judgeParts(dir)
	} else if s.persists() {
		s.doubt(Data, s.Place, "a stop saves a snapshot only if it has the time, and nothing says how long that takes: "+
			"run redis-cli SHUTDOWN SAVE first, and see that it ends", settings.Shutdown)
	}
}

func (s *Server) onDisk(dir string, f loss, at settings.Place) {
	if len(f.doubted) > 0 {
		s.doubt(Data, at, f.why, f.doubted...)
	}
	if len(f.lost) > 0 {
		s.add(Data, Contradicted, at, f.lost, f.why)
	}
	if len(f.lost)+len(f.doubted) == 0 {
		s.assume(Data, at, "%s is on a disk that does what fsync asks", cmp.Or(dir, "the folder that the server starts in"))
	}
}

// judgeParts breaks the data link if other files lie among the append-only file's parts, or are mounted over one.
func (s *Server) judgeParts(dir string) {
	written := []string{cmp.Or(s.Redis.Last("appenddirname"), "appendonlydir"),
		cmp.Or(s.Redis.Last("appendfilename"), "appendonly.aof")}
	among := func(other string) bool {
		return slices.ContainsFunc(written, func(w string) bool { _, in := relative(other, path.Join(dir, w)); return in })
	}
	others := map[string]settings.Place{}
	for _, d := range s.Redis.Directives {
		if d.Name != "appenddirname" && d.Name != "appendfilename" && len(d.Args) == 1 && !d.Secret() {
			others[d.Args[0]] = d.Place
		}
	}
	if s.unit != nil {
		a := s.unit.last("Service.PIDFile", "/")
		others[a.value] = a.at
	}
	for _, other := range sortedKeys(others) {
		if among(other) || among(path.Join(dir, other)) {
			s.unknown(Data, others[other], other+" among the data", "overwrite or remove them")
		}
	}
	for _, m := range s.mounts {
		part := slices.ContainsFunc(written, func(name string) bool { return overlap(path.Join(dir, name), m.target) })
		if rest, below := relative(m.target, dir); part && below && rest != "" {
			s.doubt(Data, m.at,
				fmt.Sprintf("%s is mounted apart from %s, and one does not keep what the other does: let both be on one volume",
					m.target, dir))
		}
	}
}

// Client is the redis-cli command that reaches this server, inside its container if it has one.
func (s *Server) Client() string {
	client := s.Redis.Client()
	host, port, err := net.SplitHostPort(s.Place.File)
	switch {
	case s.Kind == Running && err == nil: // by the address that was given
		return strings.TrimSuffix(fmt.Sprintf("redis-cli -h %s -p %s %s", host, port, s.Redis.Login()), " ")
	case s.Kind == Compose:
		return "docker compose exec " + s.Name + " " + client
	case s.Kind == Kubernetes:
		return "kubectl exec -it POD -c " + s.Name + " -- " + client
	case s.Kind == Container:
		return "docker exec -it " + s.Name + " " + client
	}
	return client
}

// Remade warns that a change recreates the container and may lose its data, "" if not.
func (s *Server) Remade() string {
	if s.onMachine() || s.Kind == Running || s.Kind == ConfigOnly {
		return ""
	}
	for _, l := range s.Changed(func(s *Server) { s.Redis.AppendOnly = true }).Links {
		if l.Name == Data && (l.State == Broken || l.State == Contradicted) && slices.Contains(l.Crashes, settings.Shutdown) {
			return "this makes the container anew, and it may begin EMPTY: copy its data to a volume first"
		}
	}
	return ""
}

// setCount sets the number of the server's containers or pods, -1 if n is not a number.
func (s *Server) setCount(n string) {
	var err error
	if s.count, err = strconv.Atoi(n); err != nil {
		s.count = -1
	}
}

// Several reports whether it may be more than one container or pod.
func (s *Server) Several() bool { return s.count > 1 || s.count < 0 }

// returns sets the downtime after each crash: after a kill the supervisor's delay, and always the command's sleep.
func (s *Server) returns(kill, sleep time.Duration, afterKill, afterStop, atBoot string) {
	s.Returns = map[settings.Crash]Return{}
	for i, crash := range settings.Crashes {
		r := Return{After: sleep, Why: []string{afterKill, afterStop, atBoot}[i]}
		if crash == settings.Kill {
			r.After += kill
		}
		if sleep > 0 {
			r.Why = fmt.Sprintf("its command sleeps for %s at every start", sleep)
		}
		s.Returns[crash] = r
		s.establish(Restart, s.Place, "%s: %s", crash, r.Why)
	}
}

// delayed replaces the files' delays by the given one.
func (s *Server) delayed(d time.Duration) {
	s.Links = slices.DeleteFunc(s.Links, func(l Link) bool { return l.Name == Restart })
	for crash := range s.Returns {
		s.Returns[crash] = Return{After: d, Why: "--restart-delay"}
	}
	s.assume(Restart, settings.Place{File: "--restart-delay"}, "it stays away for %s after every crash, as was given", d)
}
