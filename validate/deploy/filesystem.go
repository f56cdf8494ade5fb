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

// fate is what becomes of a folder when its server goes down.
type fate struct {
	lost    []settings.Crash // after which it is empty
	doubted []settings.Crash // after which it may be
	why     string           // one clause
}

func gone(format string, args ...any) fate {
	return fate{lost: settings.Crashes, why: fmt.Sprintf(format, args...)}
}

// doubtful is the fate of what may be lost in any crash.
func doubtful(format string, args ...any) fate {
	return fate{doubted: settings.Crashes, why: fmt.Sprintf(format, args...)}
}

// disks are the folders of a machine that are on its disks (hier(7), file-hierarchy(7)). What lies elsewhere may
// be memory. A mount below one of them is an assumption that each safe names.
var disks = []string{"/var/lib", "/var/db", "/var/opt", "/var/local", "/var/redis", "/var/valkey", "/srv", "/opt",
	"/home", "/root", "/data", "/usr/local", "/etc", "/storage", "/volume1", "/volumes"}

// mountPoints are where a machine's other file systems are mounted: what is there survives a process, and may be
// memory.
var mountPoints = []string{"/mnt", "/media"}

// cleaned are folders from which systemd-tmpfiles removes what is some days old, on a disk too (file-hierarchy(7)): a
// manifest of an append-only file gets as old.
var cleaned = []string{"/tmp", "/var/tmp"}

// memory are the folders of a machine that are memory on every system of today.
var memory = []string{"/dev/shm", "/run", "/var/run"}

func onMachine(dir string) fate {
	below := func(folders []string) bool { return isBelow(dir, folders) }
	switch dir = path.Clean(dir); {
	case below(memory):
		return fate{lost: []settings.Crash{settings.PowerLoss}, why: fmt.Sprintf("the data are in %s, which is memory", dir)}
	case below(cleaned):
		return doubtful("the data are in %s, which is memory, or emptied of what is old (tmpfiles.d(5)): give a folder "+
			"below /var/lib", dir)
	case dir == "/", below(disks):
		return fate{}
	case below(mountPoints):
		return fate{doubted: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("%s may be memory (findmnt -T %[1]s): give its mount unit too "+
				"(systemctl cat), or a folder below /var/lib", dir)}
	}
	return doubtful("not understood: the folder %s; it could be memory, or emptied at a start (findmnt -T %[1]s)", dir)
}

func isBelow(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { _, below := within(dir, folder); return below })
}

// within gives what of a path comes below a folder, "" for the folder itself.
func within(file, folder string) (rest string, below bool) {
	file, folder = path.Clean(file), path.Clean(folder)
	if file == folder {
		return "", true
	}
	return strings.CutPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

// overlap reports whether one of two folders is a part of the other.
func overlap(a, b string) bool {
	_, below := within(a, b)
	_, above := within(b, a)
	return a != "" && b != "" && (below || above)
}

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
