package deploy

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

// inertUnits are units that start nothing.
var inertUnits = pattern("units")

var commonKeys = pattern("keys of every section")

func readSystemd(u *unit) *Server {
	s := &Server{Name: strings.TrimSuffix(filepath.Base(u.file), filepath.Ext(u.file)), Kind: Systemd,
		Place: settings.Place{File: u.file}, folder: "/"} // systemd.exec(5), WorkingDirectory
	s.Links, s.unit, s.jobs = u.Links, u, u.beside
	switch {
	case userFolder.MatchString(u.file):
		s.doubt(Settings, s.Place, "a unit of a user's own manager, of which other files count that were not read: give "+
			"what systemctl --user cat prints")
	case !u.inUse:
		s.assume(Settings, s.Place, "systemd has no drop-in for it besides those given (systemctl cat %s)", s.Name)
	}
	if len(u.lines) == 0 {
		s.doubt(Program, s.Place, "the unit is masked: systemd does not start it, and what starts a server is not known")
	}
	if slices.ContainsFunc(u.lines, func(a assignment) bool { return strings.HasPrefix(a.key, "Container.") }) {
		s.CommandPlace, s.Unread = cmp.Or(u.last("Container.Image", "").at, s.Place), true
		s.startsContainer()
		s.atOnce("nothing that was read keeps it away")
		return s
	}
	for _, a := range u.lines {
		section, key, _ := strings.Cut(a.key, ".")
		if !slices.Contains(allowed[section], key) && !commonKeys.MatchString(key) && !strings.HasPrefix(section, "X-") {
			s.unknown(Settings, a.at, fmt.Sprintf("%s= of [%s]", key, section), "touch data, settings, start or stop")
		}
		s.judgeValue(a.at, key, a.value)
		if _, err := unitWords(a.value); section == "Service" && err != nil {
			s.unknown(Alone, a.at, key+"=, "+err.Error(), "be any value")
		} else if _, plain := u.specified(a.value); section == "Service" && !plain && key != "Environment" {
			s.unknown(Alone, a.at, key+"=, a specifier that depends on the machine", "be any value")
		}
	}
	for _, a := range slices.Concat(u.all("Unit.Wants"), u.all("Unit.Requires"), u.all("Unit.BindsTo")) {
		for _, other := range strings.Fields(a.value) {
			if !inertUnits.MatchString(other) {
				s.unknown(Alone, a.at, "the unit "+other+", which is started too",
					"touch data or settings: leave it out, or judge it")
			}
		}
	}
	s.environment(u)
	s.folders(u)
	sleep := s.before(u)
	inStart := s.start(u)
	for _, m := range u.mounts {
		s.addMachineMount(m)
	}
	for _, key := range []string{"ExecStartPost", "ExecStop", "ExecStopPost", "ExecReload"} {
		for _, a := range u.all("Service." + key) {
			s.hook(a.at, key, u.command(a), Settings)
		}
	}
	s.establish(Alone, s.Place, "each key of the unit is known")
	s.assume(Alone, s.Place, "no other program of the machine changes its data or settings")
	s.establish(Single, s.Place, "systemd runs one process of a unit")
	s.restarts(u, sleep, inStart)
	return s
}

// userFolder matches the folders of a user's own manager.
var userFolder = regexp.MustCompile(`/systemd/user/|/\.config/|/containers/systemd/users/`)

// commandPrefixes are the special characters before a unit's command (systemd.service(5)).
const commandPrefixes = "-@:+!|"

func signs(command string) string {
	return command[:len(command)-len(strings.TrimLeft(command, commandPrefixes))]
}

// command is a line's command without its prefixes; nil if it is not understood.
func (u *unit) command(a assignment) []string {
	words, err := unitWords(a.value)
	// a separate argv[0], a shell, or several commands
	if err != nil || len(words) == 0 || strings.ContainsAny(signs(words[0]), "@|") || slices.Contains(words, ";") {
		return nil
	}
	words[0] = strings.TrimLeft(words[0], commandPrefixes)
	return u.expanded(words)
}

func (s *Server) before(u *unit) (sum time.Duration) {
	for _, a := range u.all("Service.ExecStartPre") {
		e := s.hook(a.at, "ExecStartPre", u.command(a), Settings)
		if mayFail := strings.Contains(signs(a.value), "-"); e.most > e.sleep || e.sleep > 0 && mayFail {
			s.later(a.at, fmt.Sprintf("it sleeps for up to %s before the start, which does not depend on it: give the sleep a "+
				"line of its own, without a - before it", e.most))
		} else {
			sum += e.sleep
		}
	}
	return sum
}

// nearest is the length of the longest path above a file.
func nearest(file string, paths []string) (n int) {
	for _, p := range paths {
		p = path.Clean(strings.TrimLeft(p, "-+"))
		if _, below := relative(file, p); below {
			n = max(n, len(p))
		}
	}
	return n
}

var readOnlyFolders = map[string]string{"strict": "/", "full": "/usr /boot /efi /etc", "yes": "/usr /boot /efi",
	"true": "/usr /boot /efi"}

func (u *unit) writes(s *Server, dir string) {
	protect := u.last("Service.ProtectSystem", "no")
	no := strings.Fields(readOnlyFolders[strings.ToLower(protect.value)])
	if strings.EqualFold(u.last("Service.ProtectHome", "").value, "read-only") {
		no = append(no, "/home", "/root", "/run/user")
	}
	for _, key := range []string{"ReadOnlyPaths", "ReadOnlyDirectories", "InaccessiblePaths", "InaccessibleDirectories"} {
		no = append(no, u.words("Service."+key)...)
	}
	yes := append(u.words("Service.ReadWritePaths"), u.words("Service.ReadWriteDirectories")...)
	for key, folder := range unitFolders {
		for _, name := range u.words("Service." + key + "Directory") {
			yes = append(yes, path.Join(folder, name))
		}
	}
	if n := nearest(dir, no); n > 0 && n >= nearest(dir, append(yes, "/dev", "/proc", "/sys")) && s.inPlace(dir) {
		s.doubt(Data, cmp.Or(protect.at, s.Place),
			dir+" is read-only to the unit, so that nothing can be saved there: add ReadWritePaths="+dir)
	}
}

func (s *Server) start(u *unit) time.Duration {
	a := u.last("Service.ExecStart", "")
	words := u.command(a)
	switch {
	case a.value == "":
		s.CommandPlace = s.Place
		s.doubt(Program, s.Place, "no ExecStart here says which server is started: give the unit too")
		return 0
	case len(words) > 0 && engines.MatchString(words[0]):
		s.CommandPlace = a.at
		s.startsContainer()
		return 0
	case len(words) == 0 || signs(a.value) != "" || len(u.all("Service.ExecStart")) > 1:
		s.CommandPlace = a.at
		s.unknown(Program, a.at, "this ExecStart=", "start anything")
		return 0
	}
	if _, known := u.specified(a.value); !known {
		s.unknown(Settings, a.at, "a specifier in its command", "be any value")
	}
	c := readCommand(a.at, words)
	if c.wrong == "" && (c.usesImage || c.server == "") {
		c.wrong = "the command " + filepath.Base(words[0])
	}
	s.run(a.at, c)
	if s.config != nil && path.IsAbs(s.config.path) && u.inUse {
		s.config.file = u.root + s.config.path
	}
	return c.sleep
}

func (s *Server) startsContainer() {
	s.unknown(Program, s.CommandPlace, "a container that a unit starts",
		"be any server: give docker inspect, or podman inspect, of it")
}

var engines = regexp.MustCompile(`(?:^|/)(?:docker|podman)$`)

func (s *Server) span(u *unit, key, otherwise string) time.Duration {
	a := u.last(key, otherwise)
	d, err := parseTimeSpan(a.value)
	if err != nil {
		s.later(a.at, "not understood: "+strings.TrimPrefix(key, "Service.")+"="+a.value+"; it could be any time")
	}
	return d
}

func (s *Server) restarts(u *unit, before, inStart time.Duration) {
	pause, sleep := s.span(u, "Service.RestartSec", "100ms"), before+inStart
	restart := u.last("Service.Restart", "no").value
	kill, why := time.Duration(0), "nothing restarts it: whoever starts it may do so at once"
	switch {
	case pause == forever:
		why = "RestartSec=infinity never restarts it, and whoever starts it may do so at once"
	case u.starter != "":
		why = u.starter + " may start it at once"
	case slices.Contains([]string{"on-failure", "on-abnormal", "on-abort", "always"}, restart):
		kill, why = pause, fmt.Sprintf("Restart=%s, RestartSec=%s", restart, u.last("Service.RestartSec", "100ms").value)
	}
	s.returns(kill, sleep, why, "systemctl restart does not wait for RestartSec",
		"RestartSec does not hold back a unit at boot")
	starting, kind := before, u.last("Service.Type", "simple").value
	if s.forking = kind == "forking"; s.forking || strings.HasPrefix(kind, "notify") {
		starting = sleep
	}
	timeout := s.span(u, "Service.TimeoutStartSec", "90s")
	if at := u.last("Service.TimeoutStartSec", "").at; timeout > 0 && sleep > 0 && starting >= timeout {
		s.doubt(Restart, cmp.Or(at, s.CommandPlace),
			fmt.Sprintf("the unit sleeps for %s, and TimeoutStartSec (%s) ends the start before that: raise it",
				starting, timeout))
	}
}

func (s *Server) environment(u *unit) {
	u.values = map[string]string{}
	command := ""
	for _, a := range append(u.all("Service.ExecStart"), u.all("Service.ExecStartPre")...) {
		command += a.value + "\n"
	}
	set := func(at settings.Place, name, value string) {
		u.values[name] = value
		s.variable(at, name, strings.Contains(command, "$"+name) || strings.Contains(command, "${"+name))
	}
	for _, a := range u.all("Service.Environment") {
		pairs, err := unitWords(a.value)
		if err != nil {
			s.unknown(Program, a.at, "this Environment=", "change the program")
		}
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			if written, known := u.specified(value); known {
				value = written
			} else {
				value = "$" + name
			}
			set(a.at, name, value)
		}
	}
	for _, a := range u.all("Service.EnvironmentFile") { // it outranks Environment=
		file, known := u.specified(strings.TrimPrefix(a.value, "-"))
		values, err := readEnvironment(u.root+file, false)
		if err != nil || !known || !u.inUse {
			u.unreadable = true
			s.unknown(Settings, a.at, "the variables of a file that was not read", "change the program or its options")
			continue
		}
		for _, name := range sortedKeys(values) {
			set(settings.Place{File: u.root + file}, name, values[name])
		}
	}
}

// unitFolders are the parents of the folders that systemd makes for a unit.
var unitFolders = map[string]string{"State": "/var/lib", "Runtime": "/run", "Cache": "/var/cache", "Logs": "/var/log",
	"Configuration": "/etc"}

// folders adds the folders that a service loses or cannot see (systemd.exec(5)).
func (s *Server) folders(u *unit) {
	see := func(key, target string, f loss) {
		s.mounts = append(s.mounts, mount{at: u.last("Service."+key, "").at, target: target, loss: f})
	}
	if a := u.last("Service.WorkingDirectory", ""); a.value != "" {
		folder, known := u.specified(strings.TrimPrefix(a.value, "-"))
		if s.folder = folder; !known || !path.IsAbs(folder) {
			s.unknown(Data, a.at, "the folder "+a.value, "be anywhere")
		}
	}
	if u.yes("Service.PrivateTmp") {
		for _, folder := range []string{"/tmp", "/var/tmp"} {
			see("PrivateTmp", folder, lostAlways("the data are in %s, which PrivateTmp empties at each stop", folder))
		}
	}
	for _, folder := range []string{"/home", "/root", "/run/user"} {
		switch strings.ToLower(u.last("Service.ProtectHome", "no").value) {
		case "no", "false", "off", "0", "read-only":
		default: // the folder appears empty
			see("ProtectHome", folder, maybeLost("ProtectHome hides %s", folder))
		}
	}
	for _, name := range u.words("Service.RuntimeDirectory") {
		see("RuntimeDirectory", "/run/"+name,
			lostAlways("the data are in /run/%s, a RuntimeDirectory, which is removed at each stop", name))
	}
	if u.yes("Service.RemoveIPC") && u.last("Service.User", "").value+u.last("Service.Group", "").value != "" {
		see("RemoveIPC", "/dev/shm", loss{lost: []settings.Crash{settings.PowerLoss},
			doubted: []settings.Crash{settings.Kill, settings.Shutdown},
			why:     "the data are in /dev/shm, which is memory, and RemoveIPC removes what the user has there at each stop"})
	}
}
