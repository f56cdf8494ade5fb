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
	diskDevice = regexp.MustCompile(`^(?:/dev/(?:disk/by-[a-z]+/|sd[a-z]|vd[a-z]|xvd[a-z]|nvme|mapper/|mmcblk|md)\S+|(?:PART)?(?:UUID|LABEL)=\S+)$`)
	// mountOptions keep what fsync promises.
	mountOptions = regexp.MustCompile(`^(?:defaults|rw|noatime|nodiratime|relatime|nofail|auto|noauto|nosuid|nodev|noexec|discard|_netdev|bind|` +
		`errors=remount-ro|x-systemd\..*|comment=.*|subvol=.*|compress=.*|)$`)
)

// fileSystem is what becomes of a file system of the machine when the server goes down.
func fileSystem(what, kind, device, options string) fate {
	unknown := func(part string) fate {
		return doubtful("not understood: %s of %s; it could be memory, or not do what fsync asks", part, what)
	}
	for _, option := range strings.Split(options, ",") {
		if !mountOptions.MatchString(strings.TrimSpace(option)) {
			return unknown("the option " + option)
		}
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
	s.mounts = append(s.mounts, mount{at: where.at, target: where.value,
		fate: fileSystem(where.value, u.last("Mount.Type", "").value, u.last("Mount.What", "").value,
			u.last("Mount.Options", "").value)})
}
