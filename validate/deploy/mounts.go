package deploy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// programFolders are those of a container from which programs, libraries and their settings are loaded. A server is
// known by its place in them, so that nothing elsewhere is run in its place.
var (
	programFolders = strings.Fields("/usr /bin /sbin /lib /lib32 /lib64 /etc /opt /entrypoint.sh /docker-entrypoint.sh ")
	// binaries are where the programs are, so that a mount above one hides it.
	binaries   = strings.Fields("/usr/local/bin /usr/bin /usr/lib /bin /sbin /lib /etc/ld.so.cache ")
	inertFiles = regexp.MustCompile(`/(?:[^/]+\.(?:acl|crt|key|pem)|(?:redis|valkey|users|resolv|nsswitch)[^/]*\.conf)$`)
)

// judgeMounts judges what is mounted over a server's redis.conf, its program, and what that loads. Mount units are the
// machine's own, and leave what was given as it is. A mount among its programs could be another program, unless it is
// of the data, of the settings, or of a place that no server runs anything from.
func (s *Server) judgeMounts() {
	dir := s.dir()
	for i, m := range s.mounts {
		target := path.Clean(m.target)
		if !s.onMachine() && slices.ContainsFunc(s.mounts[:i], func(other mount) bool {
			return path.Clean(other.target) == target && !other.own
		}) {
			s.unknown(Data, m.at, "two mounts at "+target, "be the one that counts")
		}
		hides := func(p string) bool { _, below := within(p, target); return below }
		holds := path.IsAbs(dir) && overlap(dir, target) || s.config != nil && hides(s.config.path)
		machine := s.onMachine()
		switch {
		case !path.IsAbs(m.target) || strings.Contains(m.target, "$"):
			s.unknown(Program, m.at, "the target of a mount, "+m.target, "lie over the data, the settings or the program")
		case machine && m.unit:
		case machine && (s.config != nil && hides(s.config.path) || s.program != "" && hides(s.program)):
			s.unknown(Settings, m.at, "what is mounted at "+target+" over its redis.conf or its program", "be another one")
		case target != "/" && !isBelow(target, programFolders),
			isBelow(target, allowed["folders among programs"]), inertFiles.MatchString(target):
		case !holds || slices.ContainsFunc(binaries, hides) || isBelow(target, binaries) && !isBelow(target, []string{dir}):
			s.unknown(Program, m.at, "what is mounted at "+target, "be another program or its settings")
		}
	}
}

// volume is a mount of a container in its short or long form.
type volume struct {
	kind, from, to string // kind: volume, bind, tmpfs, or another that is not known
	subpath        string
	base           string // the folder that a relative path is in
	file           string // that says so, "" where relative paths begin nobody knows where
	shows          string // the folder of the machine or the engine, where another name stands for it
	plain          bool   // every key of it is known
	readOnly       bool
	variable       bool
}

// readVolume reads a volume of a compose file or of docker run -v.
func readVolume(value any) (v volume) {
	switch m := value.(type) {
	case string:
		text, ok := interpolate(m)
		parts := strings.Split(text, ":")
		v = volume{kind: "volume", plain: true, variable: !ok}
		switch {
		case len(parts) == 1:
			v.to = parts[0]
		default:
			v.from, v.to = parts[0], parts[1]
			if strings.Contains(v.from, "/") || strings.HasPrefix(v.from, ".") || strings.HasPrefix(v.from, "~") {
				v.kind = "bind"
			}
			if len(parts) > 2 {
				for _, option := range strings.Split(parts[2], ",") {
					v.readOnly = v.readOnly || option == "ro"
					v.plain = v.plain && slices.Contains(allowed["volume options"], option)
				}
			}
		}
	case map[string]any:
		if len(m) == 1 { // the parser takes [./a:/b:ro], in one line, for a mapping
			for key, rest := range m {
				return readVolume(fmt.Sprintf("%s:%v", key, rest))
			}
		}
		v = volume{kind: text(m, "type")}
		v.readOnly, v.plain = truth(m["read_only"])
		var ok, also bool
		v.from, ok = interpolate(text(m, "source"))
		v.to, also = interpolate(text(m, "target"))
		v.variable, v.subpath = !ok || !also, text(m, "volume", "subpath")
		for _, key := range keys(m) {
			v.plain = v.plain && slices.Contains(allowed["compose mount"], key)
		}
	}
	return v
}

// engineVolumes is where an engine keeps its named volumes: whoever sees that folder sees them.
const engineVolumes = "/var/lib/docker/volumes"

// source is what a volume shows: a folder of the machine, or the engine's own folder of a named volume; "" for one that
// nobody else has.
func (v volume) source() string {
	switch {
	case v.shows != "":
		return v.shows
	case v.kind == "bind" && path.IsAbs(v.from):
		return path.Clean(v.from)
	case v.kind == "bind":
		return path.Join("/", v.base, v.from)
	case v.kind == "volume" && v.from != "":
		return path.Join(engineVolumes, v.from, v.subpath)
	}
	return ""
}

// shown is a source as its file names it.
func shown(source string) string {
	for _, folder := range []string{engineVolumes, podVolumes} {
		if rest, below := within(source, folder); below && rest != "" {
			return rest
		}
	}
	return source
}

// addVolume adds a mount of a container to the server: named tells what becomes of a named volume.
func (s *Server) addVolume(at settings.Place, v volume, named func(name string) fate) {
	m := mount{at: at, target: v.to, source: v.source(), readOnly: v.readOnly, variable: v.variable}
	if v.kind == "bind" && (v.file != "" || path.IsAbs(v.from)) {
		m.load = func(c *configFile, file string) { c.findBeside(v.file, path.Join(v.from, file)) }
	}
	switch {
	case !v.plain || v.variable:
		m.fate = doubtful("not understood: the volume at %s; it could be memory", v.to)
	case v.kind == "tmpfs":
		m.fate = gone("the data are in %s, a tmpfs, which goes with the container", v.to)
	case v.kind == "bind":
		m.fate = onMachine(v.from)
		if v.file != "" {
			m.fate = besideFile(v.from, m.source)
		}
	case v.kind != "volume":
		m.fate = doubtful("not understood: a volume of type %s; it could be memory", v.kind)
	case v.from == "":
		m.fate = anew("the volume at %s has no name", v.to)
	default:
		m.fate = named(v.from)
		s.assume(Data, at, "the volume %s was made without other options (docker volume inspect)", shown(m.source))
	}
	s.mounts = append(s.mounts, m)
}

// besideFile is the fate of a folder that a file names, which may be relative to the file. That may be a copy: where it
// lies here says nothing, unless that is memory.
func besideFile(from, source string) fate {
	f := onMachine(source)
	if len(f.lost) == 0 && !path.IsAbs(from) && !strings.ContainsAny(from, "$~%") {
		return fate{}
	}
	return f
}

// anew is the fate of what a container has for itself: it goes when the container is made anew.
func anew(format string, args ...any) fate {
	return fate{doubted: []settings.Crash{settings.Shutdown}, why: fmt.Sprintf(format, args...) +
		": a container that is made anew, as by docker compose down and up, begins empty"}
}

// addDefaults adds what each container has: its own /dev and /run. What is on no mount of its own goes when it is made
// anew, as a volume does that its image declares.
func (s *Server) addDefaults(name string) {
	s.unmounted = anew("the data are on no volume")
	s.mounts = append(s.mounts,
		mount{own: true, at: s.Place, target: "/dev", fate: gone("the data are in /dev, which is memory and goes with " +
			"the container")})
	for _, run := range []string{"/run", "/var/run"} {
		s.mounts = append(s.mounts, mount{own: true, at: s.Place, target: run, fate: s.unmounted})
	}
	if knownImage(name) {
		s.unmounted = anew("no volume is named for " + imageFolder)
	}
}

// inPlace reports whether the server sees a folder of the machine under its own path, on a mount unit or on none.
func (s *Server) inPlace(dir string) bool {
	m := s.mountOf(dir)
	return s.onMachine() && path.IsAbs(dir) && (m == nil || m.unit)
}

// shared gives the place of the server's folder in a named volume, a claim or a folder of the machine, "" for what no
// other server can have.
func (s *Server) shared() string {
	dir := s.dir()
	m := s.mountOf(dir)
	switch {
	case s.Kind == Systemd && s.inPlace(dir):
		return path.Clean(dir)
	case m == nil || m.source == "":
		return ""
	}
	rest, _ := within(dir, m.target)
	return path.Join(m.source, rest)
}

// loadConfig finds the server's redis.conf in what is mounted where its command names it.
func (s *Server) loadConfig() {
	if s.config == nil {
		return
	}
	if m := s.mountOf(s.config.path); m != nil && m.load != nil {
		rest, _ := within(s.config.path, m.target)
		m.load(s.config, rest)
	}
}
