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

// loss says which crashes empty a folder.
type loss struct {
	lost    []settings.Crash // the folder is empty afterwards
	doubted []settings.Crash // the folder may be empty afterwards
	why     string           // one clause
}

func lostAlways(format string, args ...any) loss {
	return loss{lost: settings.Crashes, why: fmt.Sprintf(format, args...)}
}

func maybeLost(format string, args ...any) loss {
	return loss{doubted: settings.Crashes, why: fmt.Sprintf(format, args...)}
}

// disks are the folders of a machine that are on its disks (hier(7), file-hierarchy(7)); others may be memory. Each
// safe verdict names the assumption that no mount lies below them.
var disks = []string{"/var/lib", "/var/db", "/var/opt", "/var/local", "/var/redis", "/var/valkey", "/srv", "/opt",
	"/home", "/root", "/data", "/usr/local", "/etc", "/storage", "/volume1", "/volumes"}

// mountPoints are for a machine's other file systems: their data survive a process, but may be in memory.
var mountPoints = []string{"/mnt", "/media"}

// cleaned are folders from which systemd-tmpfiles removes old files, on a disk too (file-hierarchy(7)): the manifest of
// an append-only file may get old enough.
var cleaned = []string{"/tmp", "/var/tmp"}

// memory are the folders of a machine that are always in memory.
var memory = []string{"/dev/shm", "/run"}

func onMachine(dir string) loss {
	below := func(folders []string) bool { return isBelow(dir, folders) }
	switch dir = path.Clean(dir); {
	case below(memory):
		return loss{lost: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("the data are in %s, which is memory", dir)}
	case below(cleaned):
		return maybeLost("the data are in %s, which is memory, or emptied of what is old (tmpfiles.d(5)): give a folder "+
			"below /var/lib", dir)
	case dir == "/", below(disks):
		return loss{}
	case below(mountPoints):
		return loss{doubted: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("%s may be memory (findmnt -T %[1]s): give its mount unit too "+
				"(systemctl cat), or a folder below /var/lib", dir)}
	}
	return maybeLost("not understood: the folder %s; it could be memory, or emptied at a start (findmnt -T %[1]s)", dir)
}

func isBelow(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { _, below := relative(dir, folder); return below })
}

// links lead to /run on every machine and in every image (hier(7), file-hierarchy(7)).
var links = [][2]string{{"/var/run/", "/run"}, {"/var/lock/", "/run/lock"}}

// resolved is a clean path without a link at its beginning.
func resolved(file string) string {
	file = path.Clean(file)
	for _, link := range links {
		if rest, linked := strings.CutPrefix(file+"/", link[0]); linked {
			return path.Join(link[1], rest)
		}
	}
	return file
}

// relative returns the part of a path below a folder, "" for the folder itself.
func relative(file, folder string) (rest string, below bool) {
	file, folder = resolved(file), resolved(folder)
	if file == folder {
		return "", true
	}
	return strings.CutPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

// overlap reports whether one of two folders contains the other.
func overlap(a, b string) bool {
	_, below := relative(a, b)
	_, above := relative(b, a)
	return a != "" && b != "" && (below || above)
}

// The file systems of mount units and volume options (systemd.mount(5), mount(8)).
var (
	diskKinds    = pattern("disk kinds")
	diskDevice   = pattern("disk devices")
	mountOptions = pattern("mount options")
)

// oddOption is the first option of mount(8) that may break the promise of fsync, "" for none.
func oddOption(options string) string {
	for _, option := range strings.Split(options, ",") {
		if option = strings.TrimSpace(option); option != "" && !mountOptions.MatchString(option) {
			return option
		}
	}
	return ""
}

// fileSystem returns the loss of a file system of the machine.
func fileSystem(what, kind, device, options string) loss {
	unknown := func(part string) loss {
		return maybeLost("not understood: %s of %s; it could be memory, or not do what fsync asks", part, what)
	}
	if option := oddOption(options); option != "" {
		return unknown("the option " + option)
	}
	switch {
	case kind == "tmpfs" || kind == "ramfs":
		return loss{lost: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("the data are in %s, which is a %s", what, kind)}
	case !diskKinds.MatchString(kind):
		return unknown(fmt.Sprintf("the type %q", kind))
	case kind != "zfs" && !diskDevice.MatchString(device):
		return unknown("the device " + device)
	}
	return loss{}
}

// machineMount is a mount of the machine, from a line of fstab or a mount unit.
type machineMount struct {
	at                         settings.Place
	what, where, kind, options string
	early                      bool   // local-fs.target waits for it
	odd                        string // a key of its unit that is not known
}

// readMount reads a mount unit with the drop-ins of systemd's folders.
func readMount(g textFile) (machineMount, error) {
	_, folders, _ := search(g.file)
	u := &unit{file: g.file}
	err := u.read(g.file, g.text)
	if err == nil {
		err = u.dropIns(folders, filepath.Base(g.file), nil, nil)
	}
	value := func(key string) string { return u.last("Mount."+key, "").value }
	early := slices.Concat(u.words("Unit.Before"), u.words("Install.WantedBy"), u.words("Install.RequiredBy"))
	odd := ""
	for _, a := range u.lines {
		if !slices.Contains(allowed["mount unit"], a.key) {
			odd = a.key
		}
	}
	return machineMount{u.last("Mount.Where", "").at, value("What"), value("Where"), value("Type"), value("Options"),
		slices.Contains(early, "local-fs.target"), odd}, err
}

// fstab returns the mounts that systemd makes from /etc/fstab (systemd-fstab-generator(8)).
func (u *unit) fstab() (all []machineMount) {
	file := filepath.Join(u.root, "/etc/fstab")
	text, _ := readText(file)
	for i, line := range strings.Split(text, "\n") {
		f := append(strings.Fields(line), "", "", "", "")
		if where := fstabEscapes.Replace(f[1]); !isComment(line) && filepath.IsAbs(where) {
			all = append(all, machineMount{settings.Place{File: file, Line: i + 1}, f[0], where, f[2], f[3],
				!lateMount.MatchString(f[3]), ""})
		}
	}
	return all
}

// fstabEscapes are the escapes of fstab(5).
var fstabEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// lateMount is an option that lets the boot continue without the mount.
var lateMount = regexp.MustCompile(`(?:^|,)(?:nofail|noauto|_netdev)(?:,|$)`)

// addMachineMount adds a mount of the machine to the server's mounts.
func (s *Server) addMachineMount(m machineMount) {
	if !s.onMachine() {
		s.unknown(Data, m.at, "a mount of the machine below a container's volumes", "be memory: judge one without the other")
		return
	}
	m.where = path.Clean(m.where)
	f := fileSystem(m.where, m.kind, m.what, m.options)
	if m.odd != "" && f.why == "" {
		f = maybeLost("not understood: %s of the mount %s; it could be that nothing is mounted there", m.odd, m.where)
	}
	if m.where == "/" && f.why == "" { // folders in memory below a disk are known by name
		return
	}
	waits := s.unit != nil && slices.ContainsFunc(s.unit.words("Unit.RequiresMountsFor"), func(need string) bool {
		_, below := relative(need, m.where)
		return below
	})
	if !waits && !m.early && len(f.lost)+len(f.doubted) == 0 {
		f = loss{doubted: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("nothing says that %s is mounted before the server starts at boot, which begins empty without it: "+
				"add RequiresMountsFor=%[1]s to its unit", m.where)}
	}
	for i, other := range s.mounts {
		same := sameFile(other.at.File, m.at.File) && other.at.Line == m.at.Line
		if other.unit && other.target == m.where && !same {
			f = maybeLost("%s is mounted by %s and by %s, and which of them counts is not known", m.where, other.at, m.at)
			s.mounts[i].loss = f
		}
	}
	// later mounts take precedence: those of the unit are mounted over it
	s.mounts = slices.Insert(s.mounts, 0, mount{at: m.at, target: m.where, loss: f, unit: true})
}
