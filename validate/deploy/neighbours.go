package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// ordersOnly are keys that name another unit without starting it (systemd.unit(5)).
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

// manager adds the machine's settings for every service, before the unit's own lines: DefaultX= of system.conf is X=
// of each (systemd-system.conf(5)), and ld.so.preload is loaded into each (ld.so(8)).
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
			func(file, text string) { u.beside = append(u.beside, textFile{file, text}) })
	}
	return nil
}

// otherPrograms breaks the link Alone for each unit, job or tmpfiles.d file of the machine that names the data or the
// settings.
func (s *Server) otherPrograms() {
	folders, unit := []string{s.shared()}, ""
	if s.unit != nil {
		folders, unit = []string{s.dir()}, filepath.Base(s.unit.file)
	}
	if s.config != nil && s.onMachine() {
		folders = append(folders, s.config.path)
	}
	for i, folder := range folders { // texts are searched word by word
		if end := strings.IndexFunc(folder, betweenWords); end >= 0 {
			folders[i] = folder[:end]
		}
	}
	for _, other := range s.jobs {
		if other.isTable() && !s.persists() {
			continue
		}
		if line, found := other.findMention(unit, folders); found {
			s.unknown(Alone, settings.Place{File: other.file, Line: line},
				filepath.Base(other.file)+", which runs on the same machine", "change or remove the server's data, or stop it")
		}
	}
}

var (
	// restricts are keys that only restrict a service, or let it write where its commands say.
	restricts = pattern("keys that restrict")
	directory = regexp.MustCompile(`^\s*(State|Runtime|Cache|Logs|Configuration)Directory\s*=`)
)

func (g textFile) isTable() bool { return filepath.Base(filepath.Dir(g.file)) == "tmpfiles.d" }

// onlyMakes reports whether a line of tmpfiles.d makes a folder and removes nothing, as one without an age does.
func onlyMakes(line string) bool {
	f := append(strings.Fields(line), "", "-", "-", "-", "-", "-")
	return slices.Contains([]string{"d", "v", "q", "Q"}, f[0]) && f[5] == "-" && !strings.ContainsAny(line, `"'\`)
}

// findMention returns the first line that names one of the folders, the unit or a client.
func (g textFile) findMention(base string, folders []string) (line int, found bool) {
	service, table, of := filepath.Ext(g.file) == ".service", g.isTable(), &unit{file: g.file}
	for i, text := range strings.Split(g.text, "\n") {
		folder := ""
		if m := directory.FindStringSubmatch(text); service && m != nil {
			folder = unitFolders[m[1]]
		}
		switch {
		case isComment(text), service && restricts.MatchString(keyOf(text)), table && onlyMakes(text):
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
			if open := strings.IndexAny(word, `*?[{%\`); open >= 0 { // any file with this prefix
				word = filepath.Dir(word[:open] + "x")
			}
			if filepath.IsAbs(word) && filepath.Clean(word) != "/" && slices.ContainsFunc(folders,
				func(folder string) bool { return filepath.IsAbs(folder) && overlap(folder, word) }) {
				return i + 1, true
			}
		}
	}
	return 0, false
}

func betweenWords(r rune) bool { return strings.ContainsRune(" \t;:,&|()<>=\"'`", r) }
