package deploy

import (
	"cmp"
	"fmt"
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

// Server is one server of a deployment, with what is known of it.
type Server struct {
	Chain
	Name     string                    `json:"name"`
	Workload string                    `json:"workload,omitempty"` // of Kubernetes, which the container is a part of
	Kind     string                    `json:"kind"`
	Place    settings.Place            `json:"place"`
	Returns  map[settings.Crash]Return `json:"returns"`
	Redis    *settings.Redis           `json:"settings"`
	// Unread: the settings are Redis's defaults, for those of this server are not known.
	Unread bool `json:"unread,omitempty"`
	// CommandPlace and ConfigPath are where its options and its file are, for advice.
	CommandPlace settings.Place `json:"-"`
	ConfigPath   string         `json:"-"`

	dataLinks []Link // about its data, but for what its settings make of them

	config    *configFile
	program   string          // by its path, "" where its image supplies it
	given     *settings.Redis // the redis.conf that was given for it
	labels    map[string]any  // of its pod
	overrides []settings.Directive
	folder    string // that it starts in, "" if nobody says so
	mounts    []mount
	jobs      []given // what else runs on its machine
	unmounted fate    // of what is on no mount
	count     int     // of containers or pods, 0: one
	unit      *unit
	aliases   []string // names by which others find it
	forking   bool     // what starts it waits until it has gone into the background
}

// mount is a folder that is apart from what lies around it.
type mount struct {
	at       settings.Place
	target   string
	fate     fate
	source   string // the folder of the machine or of the engine that is seen there, "" for one of nobody else's
	readOnly bool
	variable bool                             // its source or its target is one
	unit     bool                             // a mount unit made it
	own      bool                             // the container has it without being told
	each     bool                             // of several pods, each has its own
	load     func(c *configFile, file string) // finds a file of it
}

// mountOf is the mount that a folder is on: the nearest above it, nil for none.
func (s *Server) mountOf(dir string) (found *mount) {
	for i, m := range s.mounts {
		if _, below := within(dir, m.target); below &&
			(found == nil || len(path.Clean(m.target)) >= len(path.Clean(found.target))) {
			found = &s.mounts[i]
		}
	}
	return found
}

// dir is the folder that the server writes to, "" or relative where that is not known.
func (s *Server) dir() string {
	dir := s.Redis.Dir()
	if !path.IsAbs(dir) && s.folder != "" {
		return path.Join(s.folder, dir)
	}
	return dir
}

func (s *Server) persists() bool { return s.Redis.AppendOnly || len(s.Redis.Save) > 0 }

// onMachine reports whether the server sees the machine's own files, and no container's.
func (s *Server) onMachine() bool {
	return s.Kind != Kubernetes && s.Kind != Compose && s.Kind != Container
}

// Changed is the server with changed settings: where it would keep its data then is judged anew.
func (s *Server) Changed(change func(*settings.Redis)) *Server {
	changed, redis := *s, *s.Redis
	change(&redis)
	changed.Redis = &redis
	changed.Links = slices.Concat(slices.DeleteFunc(slices.Clone(s.Links),
		func(l Link) bool { return l.Name == Data }), s.dataLinks)
	changed.judgeData()
	return &changed
}

// judgeData says what becomes of the server's data in each crash, by its settings and the folder that it writes to.
func (s *Server) judgeData() {
	s.otherPrograms()
	s.dataLinks = slices.DeleteFunc(slices.Clone(s.Links), func(l Link) bool { return l.Name != Data })
	dir := s.dir()
	switch {
	case !s.persists():
		s.establish(Data, s.Place, "nothing is written, so that nothing outlives a crash")
	case (s.Kind == Running || s.Kind == ConfigOnly) && s.mountOf(dir) == nil:
		f := fate{} // of the folder that it starts in
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
			f, at = m.fate, m.at
			if away := isBelow(dir, memory) && !isBelow(m.target, memory); s.inPlace(dir) && (away || isBelow(dir, cleaned)) {
				f = onMachine(dir) // /var/run, below a mount of /var, leads to memory
			}
			if m.readOnly {
				s.doubt(Data, at, dir+" is read-only, so that nothing can be saved there")
			}
		} else if s.onMachine() {
			f = onMachine(dir)
		}
		s.onDisk(dir, f, at)
		if s.Redis.AppendOnly {
			s.judgeParts(dir)
		}
		if s.unit != nil {
			s.unit.writes(s, dir)
		}
	}
	if s.persists() && !s.Redis.AppendOnly {
		s.doubt(Data, s.Place, "a stop saves a snapshot only if it has the time, and nothing says how long that takes: "+
			"run redis-cli SHUTDOWN SAVE first, and see that it ends", settings.Shutdown)
	}
}

func (s *Server) onDisk(dir string, f fate, at settings.Place) {
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

// judgeParts breaks the data link where something else lies among the append-only file's parts, or is mounted over one.
func (s *Server) judgeParts(dir string) {
	written := []string{cmp.Or(s.Redis.Last("appenddirname"), "appendonlydir"),
		cmp.Or(s.Redis.Last("appendfilename"), "appendonly.aof")}
	among := func(other string) bool {
		return slices.ContainsFunc(written, func(w string) bool { _, in := within(other, path.Join(dir, w)); return in })
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
		if rest, below := within(m.target, dir); part && below && rest != "" {
			s.doubt(Data, m.at,
				fmt.Sprintf("%s is mounted apart from %s, and one does not keep what the other does: let both be on one volume",
					m.target, dir))
		}
	}
}

// Client is redis-cli as it reaches this server: inside its container, for a container.
func (s *Server) Client() string {
	client := s.Redis.Client()
	host, port, err := net.SplitHostPort(s.Place.File)
	switch {
	case s.Kind == Running && err == nil: // as it was reached
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

// Remade says what a change of the container costs where its data do not outlive one that is made anew, "" for none.
func (s *Server) Remade() string {
	if s.onMachine() || s.Kind == Running || s.Kind == ConfigOnly {
		return ""
	}
	for _, l := range s.Changed(func(r *settings.Redis) { r.AppendOnly = true }).Links {
		if l.Name == Data && (l.State == Broken || l.State == Contradicted) && slices.Contains(l.Crashes, settings.Shutdown) {
			return "this makes the container anew, and it may begin EMPTY: copy its data to a volume first"
		}
	}
	return ""
}

// several notes of how many containers or pods the server is one; -1 where that is not known.
func (s *Server) several(n string) {
	var err error
	if s.count, err = strconv.Atoi(n); err != nil {
		s.count = -1
	}
}

// Several reports whether it may be more than one container or pod.
func (s *Server) Several() bool { return s.count > 1 || s.count < 0 }

// returns fills in how soon the server is back: after a kill by its supervisor, and else at its next start.
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

// delayed takes a delay that was given in place of what the files say.
func (s *Server) delayed(d time.Duration) {
	s.Links = slices.DeleteFunc(s.Links, func(l Link) bool { return l.Name == Restart })
	s.returns(0, 0, "", "", "")
	for crash := range s.Returns {
		s.Returns[crash] = Return{After: d, Why: "--restart-delay"}
	}
	s.assume(Restart, settings.Place{File: "--restart-delay"}, "it stays away for %s after every crash, as was given", d)
}
