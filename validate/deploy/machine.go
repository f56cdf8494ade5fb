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
	diskKinds = []string{"ext3", "ext4", "xfs", "btrfs", "zfs"}
	// diskDevice is a device on a disk. Others may be memory: /dev/ram0, /dev/zram0, /dev/loop0.
	diskDevice = regexp.MustCompile(`^(?:/dev/(?:disk/by-[a-z]+/|sd[a-z]|vd[a-z]|xvd[a-z]|nvme|mapper/|mmcblk|` +
		`md)\S+|(?:PART)?(?:UUID|LABEL)=\S+)$`)
	// mountOptions keep what fsync promises.
	mountOptions = regexp.MustCompile(`^(?:defaults|rw|noatime|nodiratime|relatime|nofail|auto|noauto|nosuid|` +
		`nodev|noexec|discard|_netdev|bind|` +
		`errors=remount-ro|x-[a-z]+\..*|comment=.*|subvol(?:id)?=.*|compress=.*|discard=async|commit=\d+|lazytime|` +
		`barrier=1|acl|user_xattr|seclabel|ssd|space_cache=v2|inode64|attr2|noquota|logbufs=\d+|logbsize=\w+|)$`)
)

// oddOption is the first of the options of mount(8) that may undo what fsync promises, "" for none. Each item may hold
// several, parted by commas.
func oddOption(items ...string) string {
	for _, option := range strings.Split(strings.Join(items, ","), ",") {
		if option = strings.TrimSpace(option); !mountOptions.MatchString(option) {
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
	case !slices.Contains(diskKinds, kind):
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
		s.misses(Data, m.at, "a mount of the machine below a container's volumes", "be memory: judge one without the other")
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
