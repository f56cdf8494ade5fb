package deploy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// reaches breaks the link Alone for each key of a container beside the server that is not on an allow-list: what it
// lets the container do could go beyond its own files, its mounts and its network.
func (s *Server) reaches(at func(key any) settings.Place, who string, value any, list []string) {
	for _, key := range oddKeys(value, list) {
		s.unknown(Alone, at(key), "the key "+key+" of "+who, "let it into the server's container")
	}
}

// containers finds the servers among some containers. What the others do, and what runs in any, is judged beside each.
func (d *Deployment) containers(all []container) (servers []*Server) {
	for _, c := range all {
		serves := !c.once && c.mayServe()
		if serves {
			servers = append(servers, c.server())
		} else if isSentinel(c.image, c.words()) && !c.once {
			d.sentinel(c)
		}
		d.tenants = append(d.tenants, func(s *Server) {
			if s.Place != c.place {
				s.beside(c, serves)
			}
		})
	}
	return servers
}

// beside judges a container beside the server: what runs in it, and, where it is no server itself, what it mounts, how
// far it reaches, and what it is plainly told to do.
func (s *Server) beside(c container, serves bool) {
	harmless := c.plain && effectOf(c.words()).known
	for _, k := range c.checks {
		s.clientOf(k.at, k.what+" of "+c.who, "", k.words, nil)
		harmless = harmless && effectOf(k.words).known
	}
	if serves {
		return
	}
	t := &Server{}
	c.storage(t)
	harmless = harmless && !slices.ContainsFunc(t.mounts, func(m mount) bool { // which may be other programs
		return slices.ContainsFunc(programFolders, func(folder string) bool { return overlap(folder, m.target) })
	})
	for _, m := range t.mounts {
		s.touches(c.place, c.who, m.source, m.readOnly || harmless)
		switch {
		case !m.variable || m.readOnly || harmless:
		case s.onFolder():
			s.unknown(Alone, c.place, c.who+", which mounts a folder by a variable", "see the server's data")
		default:
			s.assume(Alone, c.place, "%s does not mount the server's volume by its variable (docker compose config)", c.who)
		}
	}
	c.reach(s)
	s.clientOf(c.place, c.who, c.image, c.words(), c.written)
}

// onFolder reports whether a folder of the machine that has a path of its own is the server's data.
func (s *Server) onFolder() bool {
	return slices.ContainsFunc(s.mounts,
		func(m mount) bool { return m.source != "" && !strings.HasPrefix(m.source, engineVolumes) })
}

// clientOf judges what a container beside the server is told to run: a command of redis-cli or of the cluster's own
// client is read, and so is what an image of Redis runs, whose only use is that.
// Its variables may hold commands too.
func (s *Server) clientOf(at settings.Place, who, image string, command []string, variables any) {
	base, all := path.Base(image), strings.Join(command, " ")
	client := strings.HasPrefix(base, "redis") || strings.HasPrefix(base, "valkey") || commander.MatchString(all) ||
		strings.HasPrefix(base, "kubectl") || talker.MatchString(fmt.Sprint(variables))
	if !client || companions.MatchString(base) || isSentinel(image, command) {
		return
	}
	if !effectOf(command).known {
		s.unknown(Alone, at, who, "run CONFIG SET, FLUSHALL or SHUTDOWN on the server, or remove its data")
	}
}

// script breaks the link Alone where a file that is written out beside the server runs its client.
func (s *Server) script(at settings.Place, name string, content any) {
	for line := range strings.Lines(fmt.Sprint(content)) {
		if talker.MatchString(line) && !isComment(line) && !renames.MatchString(line) {
			s.unknown(Alone, at, "the script "+name, "run CONFIG SET, FLUSHALL or SHUTDOWN on the server")
			return
		}
	}
}

// renames is a line of a redis.conf that takes a command away.
var renames = regexp.MustCompile(`(?i)^\s*(?:rename-command|user)\s`)

// judgeLabels breaks the link Alone for a label or an annotation that may hold a command: programs beside the server
// read commands there that they run in its container.
func (s *Server) judgeLabels(at settings.Place, labels any) {
	all := asMap(keyed(labels))
	for _, name := range keys(all) {
		if !plainLabel.MatchString(fmt.Sprint(name, "=", all[name])) {
			s.unknown(Alone, at, "the label "+name, "tell a program to run a command in the container")
		}
	}
}

// plainLabel is of a program that runs no commands, or one word that is no variable.
var plainLabel = pattern("labels")

// commander are clients that change what runs, and talker those of a server alone.
var (
	talker    = regexp.MustCompile(`\b(?:redis-cli|valkey-cli|(?i:flushall|flushdb))\b`)
	commander = regexp.MustCompile(`\b(?:kubectl|helm|docker)\b|` + talker.String())
)

// inertRun are parts of /run by which nothing is commanded.
var inertRun = pattern("below /run")

// touches judges what else sees a folder of the machine or of the engine.
func (s *Server) touches(at settings.Place, who, source string, readOnly bool) {
	if source == "" {
		return
	}
	s.commands(at, who, source)
	var folders []string
	for _, m := range s.mounts {
		folders = append(folders, m.source)
	}
	if folders = append(folders, s.shared()); s.Kind == Systemd && s.config != nil {
		folders = append(folders, s.config.path)
	}
	for _, folder := range folders {
		if overlap(folder, source) && !readOnly {
			s.unknown(Alone, at, who+", which sees "+shown(folder)+" too", "change or remove what the server has there")
		}
	}
	if data := s.shared(); data != "" && shown(data) != data && shown(source) == source && !readOnly {
		s.assume(Alone, at, "%s, which sees %s of a machine, does not find %s there", who, source, shown(data))
	}
}

// commands judges whether a folder of the machine has a socket by which an engine or systemd is commanded: those are
// below /run. A mount that is read-only lets whoever sees one connect.
func (s *Server) commands(at settings.Place, who, source string) {
	rest, inRun := within(strings.TrimPrefix(source, "/var"), "/run")
	if source == "/" || source == "/var" || inRun && !inertRun.MatchString(rest) {
		s.unknown(Alone, at, who+", which reaches "+source, "command an engine or systemd by it, and start, stop and change "+
			"this container")
	}
}
