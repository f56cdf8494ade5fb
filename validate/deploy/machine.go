package deploy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// What a machine's own file systems are, as mount units and volumes' options say it (systemd.mount(5), mount(8)).
var (
	diskKinds    = pattern("disk kinds")
	diskDevice   = pattern("disk devices")
	mountOptions = pattern("mount options")
)

// oddOption is the first of the options of mount(8) that may undo what fsync promises, "" for none.
func oddOption(options string) string {
	for _, option := range strings.Split(options, ",") {
		if option = strings.TrimSpace(option); option != "" && !mountOptions.MatchString(option) {
			return option
		}
	}
	return ""
}

// fileSystem is what becomes of a file system of the machine when the server goes down.
func fileSystem(what, kind, device, options string) fate {
	unknown := func(part string) fate {
		return doubtful("not understood: %s of %s; it could be memory, or not do what fsync asks", part, what)
	}
	if option := oddOption(options); option != "" {
		return unknown("the option " + option)
	}
	switch {
	case kind == "tmpfs" || kind == "ramfs":
		return fate{lost: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("the data are in %s, which is a %s", what, kind)}
	case !diskKinds.MatchString(kind):
		return unknown(fmt.Sprintf("the type %q", kind))
	case kind != "zfs" && !diskDevice.MatchString(device):
		return unknown("the device " + device)
	}
	return fate{}
}

// mounted is a file system of the machine, by a line of fstab or by a mount unit.
type mounted struct {
	at                         settings.Place
	what, where, kind, options string
	early                      bool // local-fs.target waits for it
}

// readMount reads a mount unit with the drop-ins that lie where systemd looks.
func readMount(g given) (mounted, error) {
	_, folders, _ := search(g.file)
	u := &unit{file: g.file}
	err := u.read(g.file, g.text)
	if err == nil {
		err = u.dropIns(folders, filepath.Base(g.file), nil, nil)
	}
	value := func(key string) string { return u.last("Mount."+key, "").value }
	early := slices.Concat(u.words("Unit.Before"), u.words("Install.WantedBy"), u.words("Install.RequiredBy"))
	return mounted{u.last("Mount.Where", "").at, value("What"), value("Where"), value("Type"), value("Options"),
		slices.Contains(early, "local-fs.target")}, err
}

// fstab are the mount units that systemd makes of /etc/fstab (systemd-fstab-generator(8)).
func (u *unit) fstab() (all []mounted) {
	file := filepath.Join(u.root, "/etc/fstab")
	text, _ := readText(file)
	for i, line := range strings.Split(text, "\n") {
		f := append(strings.Fields(line), "", "", "", "")
		if where := fstabEscapes.Replace(f[1]); !isComment(line) && filepath.IsAbs(where) {
			all = append(all, mounted{settings.Place{File: file, Line: i + 1}, f[0], where, f[2], f[3],
				!lateMount.MatchString(f[3])})
		}
	}
	return all
}

// fstabEscapes are those of fstab(5).
var fstabEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// lateMount is an option with which a start does not wait for a mount.
var lateMount = regexp.MustCompile(`(?:^|,)(?:nofail|noauto|_netdev)(?:,|$)`)

// mounted takes what a mount makes of a folder of the machine.
func (s *Server) mounted(m mounted) {
	if !s.onMachine() {
		s.unknown(Data, m.at, "a mount of the machine below a container's volumes", "be memory: judge one without the other")
		return
	}
	f := fileSystem(m.where, m.kind, m.what, m.options)
	if m.where == "/" && f.why == "" { // what lies in memory below a disk is known by its name
		return
	}
	waits := s.unit != nil && slices.ContainsFunc(s.unit.words("Unit.RequiresMountsFor"), func(need string) bool {
		_, below := within(need, m.where)
		return below
	})
	if !waits && !m.early && len(f.lost)+len(f.doubted) == 0 {
		f = fate{doubted: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("nothing says that %s is mounted before the server starts at boot, which begins empty without it: "+
				"add RequiresMountsFor=%[1]s to its unit", m.where)}
	}
	for i, other := range s.mounts {
		same := sameFile(other.at.File, m.at.File) && other.at.Line == m.at.Line
		if other.unit && other.target == m.where && !same {
			f = doubtful("%s is mounted by %s and by %s, and which of them counts is not known", m.where, other.at, m.at)
			s.mounts[i].fate = f
		}
	}
	// what a unit mounts over it counts before it
	s.mounts = slices.Insert(s.mounts, 0, mount{at: m.at, target: m.where, fate: f, unit: true})
}

// ordersOnly are keys by which a unit names another one without starting it (systemd.unit(5)).
var ordersOnly = pattern("keys that order")

func keyOf(line string) string {
	key, _, _ := strings.Cut(line, "=")
	return strings.TrimSpace(key)
}

// namedBy reports whether a unit or a drop-in names another unit in a line that may start it.
func namedBy(text, base string) bool {
	name := regexp.QuoteMeta(strings.TrimSuffix(base, filepath.Ext(base)))
	starts := regexp.MustCompile(`(?:^|[\s=])` + regexp.QuoteMeta(base) + `(?:$|[\s"'])|` +
		`systemctl .*\b` + name + `(?:$|[\s"';&|])`)
	return slices.ContainsFunc(strings.Split(text, "\n"),
		func(line string) bool {
			return starts.MatchString(line) && !isComment(line) && !ordersOnly.MatchString(keyOf(line))
		})
}

// manager takes what systemd and the dynamic loader of the machine give to every service, before the unit's own lines:
// DefaultX= of system.conf is X= of each (systemd-system.conf(5)), and ld.so.preload is loaded into each (ld.so(8)).
func (u *unit) manager() error {
	if !u.inUse {
		return nil
	}
	all := &unit{}
	for _, pattern := range allowed["manager"] {
		found, _ := filepath.Glob(filepath.Join(u.root, "/", pattern))
		for _, file := range found {
			text, err := readText(file)
			if err == nil {
				err = all.read(file, text)
			}
			if err != nil {
				return err
			}
		}
	}
	var lines []assignment
	for _, a := range all.lines {
		if key, found := strings.CutPrefix(a.key, "Manager.Default"); found {
			lines = append(lines, assignment{a.at, "Service." + key, a.value})
		}
	}
	preload := filepath.Join(u.root, "/etc/ld.so.preload")
	if text, err := readText(preload); err == nil && strings.TrimSpace(text) != "" {
		lines = append(lines, assignment{settings.Place{File: preload}, "Service.Environment", "LD_PRELOAD=" + preload})
	}
	u.lines = append(lines, u.lines...)
	u.mounts = append(u.fstab(), u.mounts...)
	for _, pattern := range allowed["jobs"] {
		eachFile(filepath.Join(u.root, "/", pattern),
			func(file, text string) { u.beside = append(u.beside, given{file, text}) })
	}
	return nil
}

// otherPrograms breaks the link Alone for each unit, job or line of tmpfiles.d of the machine that names the data or
// the settings.
func (s *Server) otherPrograms() {
	places, unit := []string{s.shared()}, ""
	if s.unit != nil {
		places, unit = []string{s.dir()}, filepath.Base(s.unit.file)
	}
	if s.config != nil && s.onMachine() {
		places = append(places, s.config.path)
	}
	for i, place := range places { // as far as a text has it in one word
		if end := strings.IndexFunc(place, betweenWords); end >= 0 {
			places[i] = place[:end]
		}
	}
	for _, other := range s.jobs {
		if other.isTable() && !s.persists() {
			continue
		}
		if line, found := other.names(unit, places); found {
			s.unknown(Alone, settings.Place{File: other.file, Line: line},
				filepath.Base(other.file)+", which runs on the same machine", "change or remove the server's data, or stop it")
		}
	}
}

var (
	// restricts are keys that only take something away from a service, or let it write where its commands say.
	restricts = pattern("keys that restrict")
	directory = regexp.MustCompile(`^\s*(State|Runtime|Cache|Logs|Configuration)Directory\s*=`)
)

func (g given) isTable() bool { return filepath.Base(filepath.Dir(g.file)) == "tmpfiles.d" }

// names is the first line of what runs on a machine beside a unit that names one of some places, the unit, or a client.
func (g given) names(base string, places []string) (line int, found bool) {
	service, table, of := filepath.Ext(g.file) == ".service", g.isTable(), &unit{file: g.file}
	for i, text := range strings.Split(g.text, "\n") {
		folder := ""
		if m := directory.FindStringSubmatch(text); service && m != nil {
			folder = unitFolders[m[1]]
		}
		switch {
		case isComment(text), service && restricts.MatchString(keyOf(text)):
			continue
		case service && talker.MatchString(text), !service && !table && (commander.MatchString(text) || namedBy(text, base)):
			return i + 1, true
		}
		for _, word := range strings.FieldsFunc(text, betweenWords) {
			if service || table {
				word, _ = of.specified(word)
			}
			if folder != "" {
				word = filepath.Join(folder, word)
			}
			if open := strings.IndexAny(word, `*?[{%\`); open >= 0 { // any file that begins so
				word = filepath.Dir(word[:open] + "x")
			}
			if filepath.IsAbs(word) && filepath.Clean(word) != "/" && slices.ContainsFunc(places,
				func(place string) bool { return filepath.IsAbs(place) && overlap(place, word) }) {
				return i + 1, true
			}
		}
	}
	return 0, false
}

func betweenWords(r rune) bool { return strings.ContainsRune(" \t;:,&|()<>=\"'`", r) }
