package deploy

import (
	"fmt"
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

// mountUnit takes what a mount unit makes of a folder of the machine.
func (s *Server) mountUnit(u *unit) {
	where := u.last("Mount.Where", "")
	if !s.onMachine() {
		s.misses(Data, where.at, "a mount of the machine below a container's volumes", "be memory: judge one without the other")
		return
	}
	f := fileSystem(where.value, u.last("Mount.Type", "").value, u.last("Mount.What", "").value,
		u.last("Mount.Options", "").value)
	if where.value == "/" && f.why == "" { // what lies in memory below a disk is known by its name
		return
	}
	early := slices.Concat(u.words("Unit.Before"), u.words("Install.WantedBy"), u.words("Install.RequiredBy"))
	waits := s.unit != nil && slices.ContainsFunc(s.unit.words("Unit.RequiresMountsFor"), func(need string) bool {
		_, below := within(need, where.value)
		return below
	})
	if !waits && !slices.Contains(early, "local-fs.target") && len(f.lost)+len(f.doubted) == 0 {
		f = fate{doubted: []settings.Crash{settings.PowerLoss},
			why: fmt.Sprintf("nothing says that %s is mounted before the server starts at boot, which begins empty without it: "+
				"add RequiresMountsFor=%[1]s to its unit", where.value)}
	}
	for i, m := range s.mounts {
		same := sameFile(m.at.File, where.at.File) && m.at.Line == where.at.Line
		if m.unit && m.target == where.value && !same {
			f = doubtful("%s is mounted by %s and by %s, and which of them counts is not known", where.value, m.at, where.at)
			s.mounts[i].fate = f
		}
	}
	// what a unit mounts over it counts before it
	s.mounts = slices.Insert(s.mounts, 0, mount{at: where.at, target: where.value, fate: f, unit: true})
}
