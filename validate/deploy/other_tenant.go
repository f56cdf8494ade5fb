package deploy

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// judgeReach breaks the link Alone for each key of another container that is not on an allow-list: it could give
// access beyond that container's own files, mounts and network.
func (s *Server) judgeReach(d item, label string, list []string) {
	for _, key := range d.oddKeys(list) {
		s.unknown(Alone, d.at(key), "the key "+key+" of "+label, "let it into the server's container")
	}
}

// containers finds the servers among some containers. Each server is judged with all other containers.
func (d *Deployment) containers(all []container) (servers []*Server) {
	for _, c := range all {
		var own *Server // a place is no identity: a file may have all containers on one line
		if !c.once && c.mayServe() {
			own = c.server()
			servers = append(servers, own)
		} else if isSentinel(c.image, c.words()) && !c.once {
			d.sentinel(c)
		}
		d.tenants = append(d.tenants, func(s *Server) {
			if s != own {
				s.beside(c, own != nil)
			}
		})
	}
	return servers
}

// beside judges another container: its checks and, unless it is a server itself, its mounts, its reach and its command.
func (s *Server) beside(c container, serves bool) {
	for _, name := range s.aliases { // names of one project
		if slices.Contains(c.names, name) && filepath.Dir(c.place.File) == filepath.Dir(s.Place.File) {
			s.doubt(Single, c.place,
				fmt.Sprintf("%s has the name %s too, which leads to either of them: give each a name of its own", c.name, name))
		}
	}
	harmless := c.plain && effectOf(c.words()).known
	for _, k := range c.checks {
		s.clientOf(k.at, k.what+" of "+c.label, "", k.words, nil)
		harmless = harmless && effectOf(k.words).known
	}
	if serves {
		return
	}
	t := &Server{}
	c.storage(t)
	harmless = harmless && !slices.ContainsFunc(t.mounts, func(m mount) bool { // a mount may be another program
		return slices.ContainsFunc(programFolders, func(folder string) bool { return overlap(folder, m.target) })
	})
	for _, m := range t.mounts {
		s.judgeShared(c.place, c.label, m.source, m.readOnly || harmless)
		switch {
		case !m.variable || m.readOnly || harmless:
		case s.onFolder():
			s.unknown(Alone, c.place, c.label+", which mounts a folder by a variable", "see the server's "+
				"data: give the output of docker compose config")
		default:
			s.assume(Alone, c.place, "%s does not mount the server's volume by its variable (docker compose config)", c.label)
		}
	}
	c.reach(s)
	s.clientOf(c.place, c.label, c.image, c.words(), c.written)
}

// onFolder reports whether the server mounts a folder of the machine by its path.
func (s *Server) onFolder() bool {
	return slices.ContainsFunc(s.mounts,
		func(m mount) bool { return m.source != "" && !strings.HasPrefix(m.source, engineVolumes) })
}

// clientOf judges the command of another container that may be a client: one with redis-cli, kubectl or the like in its
// command or variables, or with an image of Redis, which has no other use there.
func (s *Server) clientOf(at settings.Place, label, image string, command []string, variables any) {
	base := path.Base(image)
	named := clientName.MatchString(base) && !companions.MatchString(base)
	says := commander.MatchString(strings.Join(command, " ")) || talker.MatchString(fmt.Sprint(variables))
	if (named && !isSentinel(image, command) || says) && !effectOf(command).known {
		s.unknown(Alone, at, label, "run CONFIG SET, FLUSHALL or SHUTDOWN on the server, or remove its data")
	}
}

var clientName = regexp.MustCompile(`^(?:redis|valkey|kubectl)`)

// script breaks the link Alone for an inline file that runs a client of the server.
func (s *Server) script(content item, name string) {
	for line := range strings.Lines(fmt.Sprint(content.value)) {
		if talker.MatchString(line) && !isComment(line) && !renames.MatchString(line) {
			s.unknown(Alone, content.at(), "the script "+name, "run CONFIG SET, FLUSHALL or SHUTDOWN on the server")
			return
		}
	}
}

// renames is a line of a redis.conf that disables a command.
var renames = regexp.MustCompile(`(?i)^\s*(?:rename-command|user)\s`)

// judgeLabels breaks the link Alone for a label or an annotation that may hold a command: some programs run commands
// from labels in the server's container.
func (s *Server) judgeLabels(labels item) {
	all := asMap(keyed(labels.value))
	for _, name := range sortedKeys(all) {
		if !plainLabel.MatchString(fmt.Sprint(name, "=", all[name])) {
			s.unknown(Alone, labels.at(), "the label "+name, "tell a program to run a command in the container")
		}
	}
}

// plainLabel is a label of a program that runs no commands, or one word without a variable.
var plainLabel = pattern("labels")

// commander matches the clients that control containers or a server, and talker those of a server.
var (
	talker    = regexp.MustCompile(`\b(?:redis-cli|valkey-cli|(?i:flushall|flushdb))\b`)
	commander = regexp.MustCompile(`\b(?:kubectl|helm|docker(?:-compose)?)(?:$|[^\w./-])|` + talker.String())
)

// inertRun are the parts of /run without a control socket.
var inertRun = pattern("below /run")

// judgeShared judges another program's access to a folder of the machine or of the engine.
func (s *Server) judgeShared(at settings.Place, label, source string, readOnly bool) {
	if source == "" {
		return
	}
	s.judgeSockets(at, label, source)
	var folders []string
	for _, m := range s.mounts {
		folders = append(folders, m.source)
	}
	if folders = append(folders, s.shared()); s.Kind == Systemd && s.config != nil {
		folders = append(folders, s.config.path)
	}
	for _, folder := range folders {
		if overlap(folder, source) && !readOnly {
			s.unknown(Alone, at, label+", which sees "+shown(folder)+" too", "change or remove what the server has there")
		}
	}
	if data := s.shared(); data != "" && shown(data) != data && shown(source) == source && !readOnly {
		s.assume(Alone, at, "%s, which sees %s of a machine, does not find %s there", label, source, shown(data))
	}
}

// judgeSockets judges whether a folder of the machine has a control socket of an engine or of systemd: those are below
// /run. A read-only mount of a socket allows connections too.
func (s *Server) judgeSockets(at settings.Place, label, source string) {
	rest, inRun := relative(source, "/run")
	if source == "/" || source == "/var" || inRun && !inertRun.MatchString(rest) {
		s.unknown(Alone, at, label+", which reaches "+source, "command an engine or systemd by it, and start, stop and "+
			"change this container")
	}
}
