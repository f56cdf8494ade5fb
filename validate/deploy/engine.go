package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"example.org/lockproof/validate/settings"
)

// quadletOptions are keys of a quadlet's [Container] by the names of podman's flags.
var quadletOptions = map[string]string{"Entrypoint": "entrypoint", "Exec": "command", "Environment": "env",
	"EnvironmentFile": "env-file", "Volume": "volume",
	"Tmpfs": "tmpfs", "Mount": "mount", "WorkingDir": "workdir", "HealthCmd": "health-cmd",
	"Label": "label", "Annotation": "annotation",
	"Secret": "secret"}

// quadlet reads the container of a quadlet, which podman runs with --rm: it is made anew at each start.
func (s *Server) quadlet(u *unit, image assignment) {
	c := inContainer{image: image.value, at: image.at, envAt: image.at, env: map[string]string{}, file: u.file,
		named: func(name string) fate { return s.quadletVolume(u, name) }}
	s.madeAnew(c.image)
	for _, a := range u.lines {
		key, isContainer := strings.CutPrefix(a.key, "Container.")
		value, known := u.specified(a.value)
		if isContainer && !s.option(&c, a.at, quadletOptions[key], key, value, known) {
			s.misses(Settings, a.at, "this "+key+"=", "start anything")
		}
	}
	s.started(c)
}

// quadletVolume is the fate of a volume of a quadlet: one of podman's own, or of a unit x.volume that lies beside it.
func (s *Server) quadletVolume(u *unit, name string) fate {
	if filepath.Ext(name) != ".volume" { // but one of those may make it
		named := regexp.MustCompile(`(?m)^\s*VolumeName\s*=\s*` + regexp.QuoteMeta(name) + `\s*$`)
		units, _ := filepath.Glob(filepath.Join(filepath.Dir(u.file), "*.volume"))
		made := slices.IndexFunc(units, func(file string) bool {
			text, err := readText(file)
			return err != nil || named.MatchString(text)
		})
		if made < 0 {
			return fate{}
		}
		name = filepath.Base(units[made])
	}
	file := filepath.Join(filepath.Dir(u.file), name)
	text, err := readText(file)
	v := &unit{file: file}
	if err != nil || v.read(file, text) != nil || exists(file+".d") {
		return doubtful("%s", "the volume is that of "+name+", which was not read: it could be memory: give it too")
	}
	for _, a := range v.lines {
		section, key, _ := strings.Cut(a.key, ".")
		if section == "Volume" && !slices.Contains(allowed["Volume"], key) {
			return fate{doubted: settings.Crashes, why: "not understood: " + a.at.String() + ": " + key +
				"= of the volume; it could make it memory"}
		}
	}
	return fate{}
}

// madeAnew is the storage of a container that is removed when it ends, with its volumes that have no name.
func (s *Server) madeAnew(name string) {
	s.own(name)
	for i := range s.mounts {
		s.mounts[i].fate = gone("the container is removed when it ends, and its data with it")
	}
	s.rest = gone("the container is removed when it ends, and its data with it")
}

func (s *Server) started(c inContainer) {
	if line := s.contained(c); line.sleep > 0 { // the sum for systemd
		s.misses(Restart, c.at, "a sleep in the container", "be ended by systemd or the engine")
	}
	s.loadConfig()
}

func runFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.SetInterspersed(false)
	f.Usage = func() {}
	for _, name := range append(slices.Clone(allowed["run values"]), "volume:v", "mount", "tmpfs", "env:e", "env-file",
		"workdir:w", "entrypoint", "restart") {
		name, letter, _ := strings.Cut(name, ":")
		f.StringArrayP(name, letter, nil, "")
	}
	for _, name := range append(slices.Clone(allowed["run switches"]), "rm", "replace", "detach:d") {
		name, letter, _ := strings.Cut(name, ":")
		f.BoolP(name, letter, false, "")
	}
	return f
}

func (s *Server) engineRun(u *unit, a assignment, words []string) {
	c := inContainer{at: a.at, envAt: a.at, env: map[string]string{}, named: func(string) fate { return fate{} }}
	args := words[1:]
	for len(args) > 0 && (strings.HasPrefix(args[0], "--log-level") || args[0] == "container") {
		args = args[1:]
	}
	if len(args) == 0 || args[0] != "run" {
		s.misses(Program, a.at, "this command of the engine", "start any container: give docker inspect of it")
		return
	}
	flags := runFlags()
	if flags.Parse(args[1:]) != nil { // whose words may be a secret
		s.misses(Program, a.at, "a flag of "+filepath.Base(words[0])+" run", "change data, settings, start or stop")
		return
	}
	removed, _ := flags.GetBool("rm")
	replaced, _ := flags.GetBool("replace")
	if detached, _ := flags.GetBool("detach"); detached {
		s.misses(Restart, a.at, "--detach, with which the command ends at once",
			"start the container again whenever the unit's own loop comes round")
	}
	args = flags.Args()
	if len(args) == 0 {
		s.misses(Program, a.at, "a container without an image", "be anything")
		return
	}
	c.image, c.command = args[0], args[1:]
	if s.own(c.image); removed || replaced || s.removes(u) {
		s.mounts = nil
		s.madeAnew(c.image)
	}
	flags.Visit(func(f *pflag.Flag) {
		values, _ := flags.GetStringArray(f.Name)
		for _, value := range values {
			s.value(a.at, f.Name, value)
			s.option(&c, a.at, f.Name, "--"+f.Name, value, true)
		}
	})
	s.started(c)
}

func (s *Server) removes(u *unit) bool {
	for _, a := range append(u.all("Service.ExecStartPre"), u.all("Service.ExecStopPost")...) {
		if strings.Contains(a.value, " rm ") {
			return true
		}
	}
	return false
}

// option takes a setting of a container by the name of an engine's flag, and says whether it is understood. As is how
// its file calls it.
func (s *Server) option(c *inContainer, at settings.Place, name, as, value string, known bool) bool {
	var err error
	switch name {
	case "entrypoint":
		c.entry, err = unitWords(value)
		c.hasEntry, c.at = true, at
	case "command":
		c.command, err = unitWords(value)
		c.at = at
	case "workdir":
		c.folder = value
	case "env":
		pairs := []string{value}
		if as == "Environment" { // of a unit, which has several in a line
			pairs, err = unitWords(value)
		}
		for _, pair := range pairs {
			c.set(pair)
		}
		c.envAt = at
	case "env-file":
		c.unreadEnv = &at
	case "secret":
		secret := plainSecret.FindStringSubmatch(value)
		if secret == nil {
			s.misses(Settings, at, "this Secret=", "be what the server loads, or a variable that its image reads")
		} else if secret[1] != "" {
			c.set(secret[1])
		}
	case "label", "annotation":
		labels := []string{value}
		if as != "--"+name {
			labels, err = unitWords(value)
		}
		for _, label := range labels {
			s.told(at, []any{label})
		}
	case "volume":
		v := readVolume(value)
		v.variable, v.file = v.variable || !known, c.file
		s.see(at, v, func(string) fate { return c.named(strings.SplitN(value, ":", 2)[0]) })
	case "tmpfs":
		s.see(at, volume{kind: "tmpfs", to: strings.SplitN(value, ":", 2)[0], plain: true}, nil)
	case "mount":
		s.see(at, mountOption(value), c.named)
	case "health-cmd":
		s.beside(at, as, []string{"sh", "-c", value}, Settings)
	case "restart":
		if value != "no" {
			s.misses(Restart, at, "--restart beside the unit's own Restart=", "bring the container back at once")
		}
	}
	return err == nil
}

func mountOption(line string) (v volume) {
	v.plain = true
	for _, part := range strings.Split(line, ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "type":
			v.kind = value
		case "source", "src":
			v.from = value
		case "target", "dst", "destination":
			v.to = value
		case "readonly", "ro":
			v.readOnly = true
		case "rw", "relabel", "z", "Z":
		default:
			v.plain = false
		}
	}
	return v
}

// plainSecret is a file below /run/secrets, or a variable by its name.
var plainSecret = regexp.MustCompile(`^[\w.-]+(?:,(?:type=mount|uid=\d+|gid=\d+|mode=\d+|target=[\w.-]+|` +
	`type=env,target=(\w+)))*$`)

// containerName is what an engine is told to stop or remove.
var containerName = regexp.MustCompile(`^[A-Za-z0-9_%$][A-Za-z0-9_.%$-]*$`)

// ofContainer recognises commands of a unit that pull, stop or remove the unit's own container, without its volumes.
func (u *unit) ofContainer(words []string) bool {
	if len(words) < 3 {
		return false
	}
	engine := filepath.Base(words[0])
	if engine != "docker" && engine != "podman" || !strings.Contains(u.last("Service.ExecStart", "").value, engine+" ") {
		return false
	}
	f := pflag.NewFlagSet("engine", pflag.ContinueOnError)
	f.Usage = func() {}
	f.StringP("time", "t", "", "")
	f.BoolP("force", "f", false, "")
	f.BoolP("ignore", "i", false, "")
	if f.Parse(words[2:]) != nil || f.NArg() != 1 || words[1] != "pull" && !containerName.MatchString(f.Arg(0)) {
		return false
	}
	own := words[1] == "pull" || strings.Contains(u.last("Service.ExecStart", "").value, f.Arg(0))
	return own && slices.Contains([]string{"pull", "stop", "rm"}, words[1])
}
