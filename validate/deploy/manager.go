package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// ordersOnly are keys by which a unit names another one without starting it (systemd.unit(5)).
var ordersOnly = regexp.MustCompile(`^\s*(?:[#;]|(?:After|Before|PartOf|Conflicts|Requisite|Alias|Also|Description|Documentation)\s*=)`)

// namedBy reports whether a unit or a drop-in names another unit in a line that may start it.
func namedBy(text, base string) bool {
	name := regexp.QuoteMeta(strings.TrimSuffix(base, filepath.Ext(base)))
	starts := regexp.MustCompile(`(?:^|[\s=])` + regexp.QuoteMeta(base) + `(?:$|[\s"'])|systemctl .*\b` + name + `(?:$|[\s"';&|])`)
	return slices.ContainsFunc(strings.Split(text, "\n"),
		func(line string) bool { return starts.MatchString(line) && !ordersOnly.MatchString(line) })
}

// manager takes what systemd and the dynamic loader of the machine give to every service, before the unit's own lines:
// DefaultX= of system.conf is X= of each (systemd-system.conf(5)), and ld.so.preload is loaded into each (ld.so(8)).
func (u *unit) manager() error {
	if !u.inUse {
		return nil
	}
	all := &unit{}
	for _, pattern := range []string{"usr/lib/systemd/system.conf", "etc/systemd/system.conf",
		"usr/lib/systemd/system.conf.d/*.conf", "run/systemd/system.conf.d/*.conf", "etc/systemd/system.conf.d/*.conf"} {
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
		if key, is := strings.CutPrefix(a.key, "Manager.Default"); is {
			lines = append(lines, assignment{a.at, "Service." + key, a.value})
		}
	}
	preload := filepath.Join(u.root, "/etc/ld.so.preload")
	if text, err := readText(preload); err == nil && strings.TrimSpace(text) != "" {
		lines = append(lines, assignment{settings.Place{File: preload}, "Service.Environment", "LD_PRELOAD=" + preload})
	}
	u.lines = append(lines, u.lines...)
	return nil
}
