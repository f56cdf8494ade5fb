package deploy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// programFolders are a container's folders of programs, libraries and their settings. A server is recognised by its
// path in them, so no program elsewhere runs instead.
var (
	programFolders = strings.Fields("/usr /bin /sbin /lib /lib32 /lib64 /etc /opt /entrypoint.sh /docker-entrypoint.sh ")
	// binaries are the programs' own folders: a mount above one hides them.
	binaries   = strings.Fields("/usr/local/bin /usr/bin /usr/lib /bin /sbin /lib /etc/ld.so.cache ")
	inertFiles = regexp.MustCompile(`/(?:[^/]+\.(?:acl|crt|key|pem)|(?:redis|valkey|users|resolv|nsswitch)[^/]*\.conf)$`)
)

// judgeMounts judges mounts over a server's redis.conf, its program and its libraries. Mount units of the machine do
// not change them. A mount among the programs could be another program, unless it holds the data or the settings, or
// no server runs anything from it.
func (s *Server) judgeMounts() {
	dir := s.dir()
	for i, m := range s.mounts {
		target := path.Clean(m.target)
		if !s.onMachine() && slices.ContainsFunc(s.mounts[:i], func(other mount) bool {
			return path.Clean(other.target) == target && !other.own
		}) {
			s.unknown(Data, m.at, "two mounts at "+target, "be the one that counts")
		}
		hides := func(p string) bool { _, below := relative(p, target); return below }
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

// volume is a mount of a container, as it is declared. The mount's loss is that of a named volume.
type volume struct {
	mount
	kind, from string // kind: volume, bind, tmpfs, or an unknown one
	subpath    string
	file       string // the file with the volume, "" if the folder of relative paths is unknown
	plain      bool   // every key is known
}

// readVolume reads a volume of a compose file or of docker run -v.
func readVolume(d item) (v volume) {
	switch m := d.value.(type) {
	case string:
		text, ok := interpolate(m)
		parts := strings.Split(text, ":")
		v = volume{kind: "volume", plain: true, mount: mount{target: parts[0], variable: !ok}}
		if len(parts) > 1 {
			v.from, v.target = parts[0], parts[1]
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
				return readVolume(item{value: fmt.Sprintf("%s:%v", key, rest)})
			}
		}
		v = volume{kind: d.text("type")}
		v.readOnly, v.plain = truth(m["read_only"])
		var ok, also bool
		v.from, ok = interpolate(d.text("source"))
		v.target, also = interpolate(d.text("target"))
		v.variable, v.subpath = !ok || !also, d.text("volume", "subpath")
		v.plain = v.plain && len(d.oddKeys(allowed["compose mount"])) == 0
		for _, options := range []string{"volume", "bind", "tmpfs"} {
			v.plain = v.plain && len(d.get(options).oddKeys(allowed["compose mount options"])) == 0
		}
	}
	return v
}

// engineVolumes is an engine's folder of named volumes: a container that mounts it sees them.
const engineVolumes = "/var/lib/docker/volumes"

// shown is a source as the operator's file names it.
func shown(source string) string {
	for _, folder := range []string{engineVolumes, podVolumes} {
		if rest, below := relative(source, folder); below && rest != "" {
			return rest
		}
	}
	return source
}

// addVolume adds a mount of a container to the server.
func (s *Server) addVolume(v volume) {
	m := v.mount
	if v.kind == "bind" && (v.file != "" || path.IsAbs(v.from)) {
		m.load = func(c *configFile, file string) { c.findBeside(v.file, path.Join(v.from, file)) }
	}
	switch {
	case v.variable:
		m.loss = maybeLost("a variable says what is mounted at %s, which could be memory: give the output of docker compose "+
			"config", m.target)
	case !v.plain:
		m.loss = maybeLost("not understood: the volume at %s; it could be memory", m.target)
	case v.kind == "tmpfs":
		m.loss = lostAlways("the data are in %s, a tmpfs, which goes with the container", m.target)
	case v.kind == "bind":
		m.loss = onMachine(v.from)
		if v.file != "" {
			m.loss = besideFile(v.from, m.source)
		}
	case v.kind != "volume":
		m.loss = maybeLost("not understood: a volume of type %s; it could be memory", v.kind)
	case v.from == "":
		m.loss = lostIfRecreated("the volume at %s has no name", m.target)
	default:
		s.assume(Data, m.at, "the volume %s was made without other options (docker volume inspect)", shown(m.source))
	}
	s.mounts = append(s.mounts, m)
}

// besideFile is the data loss of a folder that may be relative to its file. The file may be a copy, so its place on
// this machine shows nothing, unless that is memory.
func besideFile(from, source string) loss {
	f := onMachine(source)
	if len(f.lost) == 0 && !path.IsAbs(from) && !strings.ContainsAny(from, "$~%") {
		return loss{}
	}
	return f
}

// lostIfRecreated is the data loss of a container's private files.
func lostIfRecreated(format string, args ...any) loss {
	return loss{doubted: []settings.Crash{settings.Shutdown}, why: fmt.Sprintf(format, args...) +
		": a container that is made anew, as by docker compose down and up, begins empty"}
}

// addDefaults adds a container's own /dev and /run. Data on no mount are lost when the container is recreated, and so
// are those on a volume that its image declares.
func (s *Server) addDefaults(name string) {
	s.unmounted = lostIfRecreated("the data are on no volume")
	s.mounts = append(s.mounts,
		mount{own: true, at: s.Place, target: "/dev", loss: lostAlways("the data are in /dev, which is memory and goes " +
			"with the container")},
		mount{own: true, at: s.Place, target: "/run", loss: s.unmounted})
	if knownImage(name) {
		s.unmounted = lostIfRecreated("no volume is named for " + imageFolder)
	}
}

// inPlace reports whether the server sees a folder of the machine under its own path.
func (s *Server) inPlace(dir string) bool {
	m := s.mountOf(dir)
	return s.onMachine() && path.IsAbs(dir) && (m == nil || m.unit)
}

// shared is the server's data folder as a path in a named volume, a claim or the machine, "" if no other server can
// have it.
func (s *Server) shared() string {
	dir := s.dir()
	m := s.mountOf(dir)
	switch {
	case s.Kind == Systemd && s.inPlace(dir):
		return path.Clean(dir)
	case m == nil || m.source == "":
		return ""
	}
	rest, _ := relative(dir, m.target)
	return path.Join(m.source, rest)
}

// loadConfig finds the server's redis.conf in the mount at its path.
func (s *Server) loadConfig() {
	if s.config == nil {
		return
	}
	if m := s.mountOf(s.config.path); m != nil && m.load != nil {
		rest, _ := relative(s.config.path, m.target)
		m.load(s.config, rest)
	}
}
