package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// ordersOnly are keys by which a unit names another one without starting it (systemd.unit(5)).
var ordersOnly = regexp.MustCompile(`^\s*(?:[#;]|(?:After|Before|PartOf|Conflicts|Requisite|Alias|Also|` +
	`Description|Documentation)\s*=)`)

// namedBy reports whether a unit or a drop-in names another unit in a line that may start it.
func namedBy(text, base string) bool {
	name := regexp.QuoteMeta(strings.TrimSuffix(base, filepath.Ext(base)))
	starts := regexp.MustCompile(`(?:^|[\s=])` + regexp.QuoteMeta(base) + `(?:$|[\s"'])|` +
		`systemctl .*\b` + name + `(?:$|[\s"';&|])`)
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
		"usr/lib/systemd/system.conf.d/*.conf", "usr/local/lib/systemd/system.conf.d/*.conf",
		"run/systemd/system.conf.d/*.conf", "etc/systemd/system.conf.d/*.conf"} {
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
	u.mounts = append(u.fstab(), u.mounts...)
	for _, pattern := range jobs {
		found, _ := filepath.Glob(filepath.Join(u.root, "/", pattern))
		for _, file := range found {
			if text, err := readText(file); err == nil {
				u.beside = append(u.beside, given{file, text})
			}
		}
	}
	return nil
}

// jobs are files of a machine by which something runs there beside its units (crontab(5), cron(8),
// systemd-rc-local-generator(8)).
var jobs = strings.Fields("etc/rc.local etc/crontab etc/anacrontab etc/cron.*/* var/spool/cron/* " +
	"var/spool/cron/crontabs/*")

// others breaks the link Alone for each unit or job of the machine that names the data or the settings.
func (u *unit) others(s *Server) {
	places := []string{s.dir()}
	if s.config != nil {
		places = append(places, s.config.path)
	}
	for _, other := range u.beside {
		if slices.ContainsFunc(other.named(filepath.Base(u.file)), func(word string) bool {
			return word == "" || filepath.IsAbs(word) && filepath.Clean(word) != "/" && slices.ContainsFunc(places,
				func(place string) bool { return filepath.IsAbs(place) && overlap(place, word) })
		}) {
			s.misses(Alone, settings.Place{File: other.file}, filepath.Base(other.file)+", which runs on the same machine",
				"change or remove the server's data, or stop it")
		}
	}
}

// restricts are keys that only take something away from a service, or let it write where its commands say.
var restricts = regexp.MustCompile(`^Service\.(?:ReadOnly|ReadWrite|Inaccessible|NoExec|Exec)(?:Paths|Directories)$`)

// named are the words of what runs on a machine beside the unit base, with the folders that systemd makes for it; ""
// stands for a command of a server or for the unit itself.
func (g given) named(base string) (all []string) {
	other := &unit{file: g.file}
	if !g.isUnit() {
		for i, line := range strings.Split(g.text, "\n") {
			if !isComment(line) && (commander.MatchString(line) || namedBy(line, base)) {
				all = append(all, "")
			}
			other.lines = append(other.lines, assignment{settings.Place{Line: i + 1}, "Service.ExecStart",
				strings.Split(line, "#")[0]})
		}
	} else if other.read(g.file, g.text) != nil {
		return []string{""}
	}
	for _, a := range other.lines {
		section, key, _ := strings.Cut(a.key, ".")
		if section != "Service" || restricts.MatchString(a.key) {
			continue
		}
		if g.isUnit() && strings.HasPrefix(key, "Exec") && talker.MatchString(a.value) {
			all = append(all, "")
		}
		folder, made := unitFolders[strings.TrimSuffix(key, "Directory")]
		for _, word := range strings.FieldsFunc(a.value, betweenWords) {
			if all = append(all, word); made {
				all = append(all, filepath.Join(folder, strings.Split(word, ":")[0]))
			}
		}
	}
	return all
}

func (g given) isUnit() bool { return filepath.Ext(g.file) == ".service" }

func betweenWords(r rune) bool { return strings.ContainsRune(" \t;&|()<>=\"'`*", r) }

// fstab are the mount units that systemd makes of /etc/fstab (systemd-fstab-generator(8)).
func (u *unit) fstab() (all []*unit) {
	file := filepath.Join(u.root, "/etc/fstab")
	text, _ := readText(file)
	for i, line := range strings.Split(text, "\n") {
		f := append(strings.Fields(line), "", "", "", "")
		for i := range f {
			f[i] = fstabEscapes.Replace(f[i])
		}
		if isComment(line) || !filepath.IsAbs(f[1]) {
			continue
		}
		m, at := &unit{file: file}, settings.Place{File: file, Line: i + 1}
		for i, key := range []string{"What", "Where", "Type", "Options"} {
			m.lines = append(m.lines, assignment{at, "Mount." + key, f[i]})
		}
		if !lateMount.MatchString(f[3]) {
			m.lines = append(m.lines, assignment{at, "Unit.Before", "local-fs.target"})
		}
		all = append(all, m)
	}
	return all
}

// fstabEscapes are those of fstab(5).
var fstabEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// lateMount is an option with which a start does not wait for a mount.
var lateMount = regexp.MustCompile(`(?:^|,)(?:nofail|noauto|_netdev)(?:,|$)`)
