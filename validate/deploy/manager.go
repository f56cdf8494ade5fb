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
	for _, pattern := range strings.Fields("usr/lib/systemd/system.conf etc/systemd/system.conf " +
		"usr/lib/systemd/system.conf.d/*.conf usr/local/lib/systemd/system.conf.d/*.conf " +
		"run/systemd/system.conf.d/*.conf etc/systemd/system.conf.d/*.conf") {
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
		eachFile(filepath.Join(u.root, "/", pattern),
			func(file, text string) { u.beside = append(u.beside, given{file, text}) })
	}
	return nil
}

// jobs are files of a machine by which something runs there beside its units (crontab(5), cron(8),
// systemd-rc-local-generator(8), tmpfiles.d(5)).
var jobs = strings.Fields("etc/rc.local etc/crontab etc/anacrontab etc/cron.*/* var/spool/cron/* " +
	"var/spool/cron/crontabs/* etc/tmpfiles.d/*.conf run/tmpfiles.d/*.conf usr/local/lib/tmpfiles.d/*.conf " +
	"usr/lib/tmpfiles.d/*.conf")

// others breaks the link Alone for each unit, job or line of tmpfiles.d of the machine that names the data or the
// settings.
func (s *Server) others() {
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
			s.misses(Alone, settings.Place{File: other.file, Line: line},
				filepath.Base(other.file)+", which runs on the same machine", "change or remove the server's data, or stop it")
		}
	}
}

var (
	// restricts are keys that only take something away from a service, or let it write where its commands say.
	restricts = regexp.MustCompile(`^\s*(?:(?:ReadOnly|ReadWrite|Inaccessible|NoExec|Exec)(?:Paths|Directories)|` +
		`RequiresMountsFor|WantsMountsFor|Documentation|Description|Condition\w+|Assert\w+)\s*=`)
	// makes is a line of tmpfiles.d that makes a folder or sets rights, and without an age removes nothing.
	makes = regexp.MustCompile(`^\s*[dvqQzZaAtThHmxX][!+=~^$-]*\s+[^\s"']+` +
		`(?:(?:\s+\S+){0,3}|(?:\s+\S+){3}\s+-(?:\s.*)?)\s*$`)
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
		case isComment(text), service && restricts.MatchString(text), table && makes.MatchString(text):
			continue
		case service && talker.MatchString(text), !service && !table && (commander.MatchString(text) || namedBy(text, base)):
			return i + 1, true
		}
		for _, word := range strings.FieldsFunc(text, betweenWords) {
			if service || table {
				word, _ = of.specified(word)
			}
			if folder != "" {
				word = filepath.Join(folder, strings.Split(word, ":")[0])
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

func betweenWords(r rune) bool { return strings.ContainsRune(" \t;&|()<>=\"'`", r) }
