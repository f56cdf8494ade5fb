package deploy

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

func (d *Deployment) assemble(o Options) error {
	for _, g := range d.units {
		u, err := d.readUnit(g)
		if err != nil {
			return err
		}
		if a := u.last("Service.ExecStart", ""); isSentinel("", joinWords(a.value)) {
			d.sentinel(container{at: a.at, command: joinWords(a.value), storage: func(*Server) {}})
		} else {
			d.Servers = append(d.Servers, readSystemd(u))
		}
	}
	var kubernetes, compose []item
	var engine []container
	for _, doc := range d.documents {
		switch {
		case doc.has("services") && !doc.has("kind"):
			compose = append(compose, doc)
		case doc.text("kind") != "":
			kubernetes = append(kubernetes, doc)
		case doc.has("HostConfig"):
			engine = append(engine, doc.inspected())
		default:
			d.unreadable(doc.at(), "not understood: this document; it could start any server: "+Wanted)
		}
	}
	for _, doc := range compose {
		d.Servers = append(d.Servers, d.readCompose(doc, compose)...)
	}
	d.Servers = append(d.Servers, d.containers(engine)...)
	found := d.readKubernetes(kubernetes)
	d.Servers = append(d.Servers, found...)
	const which = "not understood: which of these %s runs a server of locks; any could: give docker inspect of it"
	switch {
	case len(kubernetes) > 0 && len(found) == 0:
		what, at := "which of these objects runs a server of locks; any could", kubernetes[0].at("kind")
		for _, doc := range kubernetes {
			_, workload := podOf(doc, nil)
			if kind := doc.text("kind"); !workload && !slices.Contains(allowed["kubernetes kinds"], kind) {
				what, at = "the kind "+kind+", of which an operator makes servers; it could start any", doc.at("kind")
			}
		}
		d.unreadable(at, "not understood: "+what+": give me the rendered objects "+
			"(kubectl get statefulset,deployment,configmap -o yaml | lockproof validate -)")
	case len(compose) > 0 && len(d.Servers)+len(d.unread) == 0:
		d.unreadable(compose[0].at("services"),
			fmt.Sprintf(which, "services"))
	case len(engine) > 0 && len(d.Servers)+len(d.unread) == 0:
		d.unreadable(engine[0].place, fmt.Sprintf(which, "containers"))
	}
	return d.settingsOnly(o)
}

// settingsOnly makes servers from settings alone: files, flags or a running server's reports.
func (d *Deployment) settingsOnly(o Options) error {
	var config, info *Report
	for _, r := range d.reports {
		if config != nil && len(r.Config) > 0 || info != nil && len(r.Info) > 0 {
			return &settings.Problem{Place: r.Place, What: "a second server's CONFIG GET or INFO",
				Right: "judge one server at a time"}
		}
		if len(r.Config) > 0 {
			config = r
		}
		if len(r.Info) > 0 {
			info = r
		}
	}
	switch nothing := len(d.Servers)+len(d.configs)+len(d.unread) == 0 && config == nil; {
	case nothing && info != nil:
		d.unreadable(info.Place, "INFO says nothing of the settings: give CONFIG GET '*' too")
	case nothing && len(d.sentinels) > 0:
		d.unreadable(d.sentinels[0].place,
			"a Sentinel's file says nothing of its masters' settings: give their redis.conf too")
	}
	switch {
	case len(d.Servers) > 0:
	case len(d.unread) > 0:
		s := &Server{Name: "server", Kind: ConfigOnly, Place: d.unread[0].Place, CommandPlace: d.unread[0].Place,
			Redis: settings.Default(), Unread: true}
		s.Links = d.unread
		s.atOnce("nothing that was read keeps it away")
		d.Servers = append(d.Servers, s)
	case config != nil && len(d.configs) == 0:
		s, err := readRunning(config, info)
		d.Servers = append(d.Servers, s)
		return err
	case len(d.configs) > 0:
		for _, c := range d.configs {
			s := alone(settings.Place{File: c.File})
			s.Name, s.given = c.File, c
			d.Servers = append(d.Servers, s)
		}
	case len(o.Set) > 0:
		d.Servers = append(d.Servers, alone(settings.Place{File: "--set"}))
	default:
		return &settings.Problem{Place: settings.Place{File: cmp.Or(strings.Join(d.Files, ", "), "nothing")},
			What: "no server is described here", Right: Wanted}
	}
	return nil
}

// foreground breaks the restart link if the supervisor waits for another process than the server.
func (s *Server) foreground() {
	notify := s.unit != nil && strings.HasPrefix(s.unit.last("Service.Type", "simple").value, "notify")
	// stays in the foreground
	supervised := notify && slices.Contains([]string{"systemd", "auto"}, s.Redis.Last("supervised"))
	background := s.Redis.Last("daemonize") == "yes" && !supervised
	if s.Kind == ConfigOnly || s.Kind == Running || s.Unread || s.unknownProgram() || background == s.forking {
		return
	}
	s.doubt(Restart, cmp.Or(s.Redis.At("daemonize"), s.CommandPlace),
		"the server goes into the background where what starts it waits for one in the foreground, or the other way round "+
			"(daemonize): when it is started again is not known")
}

// alone is a server whose settings alone are known.
func alone(place settings.Place) *Server {
	s := &Server{Name: "server", Kind: ConfigOnly, Place: place, CommandPlace: place}
	s.assume(Program, place, "a redis-server or valkey-server is started with these settings, and with no others")
	s.assume(Alone, place, "nothing else touches its data or settings, at a start, at a stop or beside it")
	s.assume(Single, place, "no second server runs on its data or address")
	s.atOnce("nothing that was given keeps it away: --restart-delay, or the file of what starts it")
	return s
}

// matchConfigs finds each server's redis.conf among the inputs: the one that its command names. A file that no command
// names is reported.
func (d *Deployment) matchConfigs(o Options) {
	used := map[*settings.Redis]bool{}
	for _, s := range d.Servers {
		for _, c := range d.configs {
			switch {
			case s.given != nil || s.Kind == Running || s.Redis != nil:
			case s.config == nil && o.Config != "" && !s.unknownProgram():
				s.doubt(Settings, s.CommandPlace, "its command names no redis.conf, so that it is not started with "+c.File)
			case s.config == nil:
			case o.Config == "" && s.config.file != "" && sameFile(s.config.file, c.File): // read for the server later
				used[c] = true
			case o.Config == "" && s.config.name+s.config.file != "" &&
				path.Base(s.config.path) == filepath.Base(c.File):
				s.doubt(Settings, s.CommandPlace,
					fmt.Sprintf("it is started with %s, and not with %s: leave that out, or name it by --config",
						cmp.Or(s.config.name, s.config.file), c.File))
			case o.Config != "", d.isFileOf(s, c.File), len(d.configs) == 1 && isPipe(c.File):
				s.given = c
			}
		}
		used[s.given] = true
	}
	for _, c := range d.configs {
		if !used[c] && o.Config == "" {
			for _, s := range d.Servers {
				s.doubt(Settings, settings.Place{File: c.File},
					"no command that was read names this file: name it by --config if the server is started with it")
			}
		}
	}
}

// isFileOf reports whether a given file, which may be a copy, is the one that a server's command names: no other
// server's path has as many of its last names.
func (d *Deployment) isFileOf(s *Server, file string) bool {
	n := sameNames(s.config.path, file)
	return n > 0 && !slices.ContainsFunc(d.Servers, func(other *Server) bool {
		return other.config != nil && other.config.path != s.config.path && sameNames(other.config.path, file) >= n
	})
}

// sameNames counts the last names that two paths share.
func sameNames(a, b string) (n int) {
	for ; path.Base(a) == path.Base(b) && path.Dir(a) != a && path.Dir(b) != b; a, b = path.Dir(a), path.Dir(b) {
		n++
	}
	return n
}

// link reads each server's settings and judges the servers together.
func (d *Deployment) link(o Options) error {
	d.matchConfigs(o)
	for _, s := range d.Servers {
		if err := d.settle(s, o); err != nil {
			return err
		}
	}
	if err := d.choose(o.Service); err != nil {
		return err
	}
	s := d.Server
	for _, r := range d.reports {
		if s.Kind != Running {
			if err := r.compare(s, o.Ignore); err != nil {
				return err
			}
			r.state(s)
		}
	}
	for _, each := range d.Servers {
		each.judgeMounts()
		each.judgeData()
	}
	d.failover()
	d.judgeOthers(o.Service != "")
	if o.Delay != nil {
		s.delayed(*o.Delay)
	}
	if !(s.Kind == ConfigOnly && s.Unread) { // such a server has them already
		s.Links = append(s.Links, d.unread...)
	}
	d.takeover()
	s.breakMissing(s.Place)
	return nil
}

// settle reads a server's settings, and judges mounts and other programs.
func (d *Deployment) settle(s *Server, o Options) error {
	for _, m := range d.mounts {
		s.addMachineMount(m)
	}
	s.jobs = append(s.jobs, d.jobs...)
	set, err := settings.ParseLines(o.Set)
	if err == nil && s.Redis == nil {
		err = s.readSettings()
	}
	if err == nil {
		err = s.Redis.Apply(slices.Concat(set, s.overrides))
	}
	if err != nil {
		return err
	}
	s.judgeDirectives(s.Redis, o.Ignore)
	s.foreground()
	for _, judge := range d.tenants {
		judge(s)
	}
	if m := s.mountOf(s.dir()); m != nil && m.source != "" && !m.each && s.Several() && s.persists() {
		s.doubt(Single, m.at,
			fmt.Sprintf("each pod of %s writes to the same %s: give each one of its own, as by volumeClaimTemplates",
				s.Workload, shown(m.source)))
	}
	return nil
}

func (d *Deployment) choose(name string) error {
	var names []string
	for _, s := range d.Servers {
		names = append(names, s.Name)
		if name != "" && s.Name == name && d.Server == nil {
			d.Server = s
		}
	}
	if name != "" && d.Server == nil {
		return &settings.Problem{Place: settings.Place{File: strings.Join(d.Files, ", ")},
			What: fmt.Sprintf("there is no service %q", name), Right: "there are " + strings.Join(names, ", ")}
	}
	for _, known := range []bool{true, false} { // one whose program is known comes before another
		for _, s := range d.Servers {
			if master, _ := s.Redis.Follows(); master == "" && d.Server == nil && known != s.unknownProgram() {
				d.Server = s
			}
		}
	}
	d.Server = cmp.Or(d.Server, d.Servers[0])
	return nil
}

// judgeOthers compares the judged server with the others: each needs its own data, and the same settings unless
// --service names one.
func (d *Deployment) judgeOthers(named bool) {
	s, masters := d.Server, 0
	for _, other := range d.Servers {
		master, _ := other.Redis.Follows()
		if master == "" {
			masters += max(1, other.count)
		}
		if other == s {
			continue
		}
		if here := s.shared(); here != "" && here == other.shared() && !(s.Kind == Systemd && other.Kind == Systemd) {
			s.doubt(Single, other.Place,
				fmt.Sprintf("%s may be a server too, and sees the same %s: two servers overwrite what each other has "+
					"written, and need a volume each", other.Name, shown(here)))
		}
		for _, m := range other.mounts {
			s.judgeShared(other.Place, other.Name, m.source, m.readOnly)
		}
		if s.overwrites(other) {
			s.doubt(Single, other.Place,
				fmt.Sprintf("%s has the same files in %s on another port, and each overwrites what the other has written: give "+
					"each a dir of its own", other.Name, s.dir()))
		}
		if master == "" && (!named || other.Name == s.Name) &&
			other.shape() != s.shape() {
			what := fmt.Sprintf("%s is not set as %s, which is judged: judge each with --service", other.Name, s.Name)
			if other.unknownProgram() {
				what = fmt.Sprintf("%s may be a server too, and what it runs is not known: if the locks are on %s, "+
					"say --service %[2]s", other.Name, s.Name)
			}
			s.doubt(Settings, other.Place, what)
		}
	}
	if masters > 1 {
		s.assume(Single, s.Place,
			"clients reach each of the %d servers by an address of its own: no proxy and no name spreads them", masters)
	}
	d.judgeServices()
}

// overwrites reports whether two servers of one machine write to the same files. Different ports show that they are
// two.
func (s *Server) overwrites(other *Server) bool {
	onMachine := func(s *Server) bool {
		return s.Kind != Running && s.inPlace(s.dir())
	}
	if !onMachine(s) || !onMachine(other) || s.dir() != other.dir() || s.Redis.Last("port") == other.Redis.Last("port") {
		return false
	}
	names := []string{"appendfilename", "appenddirname"}
	return s.Redis.AppendOnly && !slices.ContainsFunc(names,
		func(name string) bool { return s.Redis.Last(name) != other.Redis.Last(name) })
}

// judgeServices breaks the link of the single server if one address leads to several masters: a Service that is not
// headless picks one of its pods for each connection.
func (d *Deployment) judgeServices() {
	for _, doc := range d.documents {
		selector := asMap(doc.get("spec", "selector").value)
		if doc.text("kind") != "Service" || len(selector) == 0 || doc.text("spec", "clusterIP") == "None" {
			continue
		}
		pods := 0
		for _, s := range d.Servers {
			selected := s.Kind == Kubernetes && s.labels != nil && doc.sharesNamespace(s.workload)
			for key, value := range selector {
				selected = selected && s.labels[key] == value
			}
			if master, _ := s.Redis.Follows(); selected && master == "" {
				if pods += max(s.count, 1); s.count < 0 {
					pods++
				}
			}
		}
		if pods > 1 {
			d.Server.doubt(Single, doc.at("spec"),
				fmt.Sprintf("the Service %s leads to any of %d pods, and each has locks of its own: give each pod an address "+
					"(clusterIP: None)", doc.text("metadata", "name"), pods))
		}
	}
}

// shape is everything that decides whether a server keeps its locks.
func (s *Server) shape() string {
	var b bytes.Buffer
	for _, crash := range settings.Crashes {
		fmt.Fprintln(&b, s.Returns[crash].After, s.Lost(crash) != "")
		for _, l := range s.Broken(crash, false) {
			fmt.Fprintln(&b, l.Name, strings.ReplaceAll(l.What, s.Name, ""))
		}
	}
	fmt.Fprintln(&b, s.Redis.Lines())
	return b.String()
}
