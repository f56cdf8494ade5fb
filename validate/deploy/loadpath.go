package deploy

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"lockproof/validate/settings"
)

// loadPaths are the folders of units and of quadlets below the root of a machine; what the first has replaces what a
// later one has (systemd.unit(5), Unit File Load Path; podman-systemd.unit(5)).
var loadPaths = map[string][]string{
	".service": strings.Fields(`etc/systemd/system.control run/systemd/system.control run/systemd/transient run/systemd/generator.early
		etc/systemd/system etc/systemd/system.attached run/systemd/system run/systemd/system.attached run/systemd/generator
		usr/local/lib/systemd/system usr/lib/systemd/system lib/systemd/system run/systemd/generator.late`),
	".container": strings.Fields(`run/containers/systemd etc/containers/systemd usr/share/containers/systemd`),
}

// search gives the root of the machine that a unit is on, and the folders that its parts are looked for in, the first
// that counts before the others. A unit that is in no such folder has its own alone.
func search(file string) (root string, folders []string, inUse bool) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", []string{filepath.Dir(file)}, false
	}
	all := loadPaths[cmp.Or(filepath.Ext(file), ".service")]
	for _, below := range all {
		prefix, found := strings.CutSuffix(dir, "/"+below)
		if !found || below == "lib/systemd/system" && strings.HasSuffix(prefix, "/usr") {
			continue
		}
		for _, other := range all {
			folders = append(folders, filepath.Join(prefix, other))
		}
		return prefix, folders, true
	}
	return "", []string{filepath.Dir(file)}, false
}

// given is a file that was named, with its text.
type given struct{ file, text string }

// readUnit reads the unit that systemd starts where this one is given, with its drop-ins: those that lie where systemd
// looks, and those that were given.
func readUnit(unitFile given, more, others []given) (*unit, error) {
	root, folders, inUse := search(unitFile.file)
	u := &unit{file: unitFile.file, root: root, inUse: inUse}
	base := filepath.Base(unitFile.file)
	for _, folder := range folders {
		file := filepath.Join(folder, base)
		if sameFile(file, unitFile.file) {
			break
		}
		if text, err := readText(file); err == nil {
			u.file, unitFile = file, given{file, text}
			break
		}
	}
	if err := u.read(unitFile.file, unitFile.text); err != nil {
		return nil, err
	}
	parts := map[string]given{}
	for _, g := range more {
		if slices.Contains(dropInFolders(base), filepath.Base(filepath.Dir(g.file))) {
			parts[filepath.Base(g.file)] = g
		} else if !slices.ContainsFunc(others, func(unit given) bool {
			return slices.Contains(dropInFolders(filepath.Base(unit.file)), filepath.Base(filepath.Dir(g.file)))
		}) {
			u.orphans = append(u.orphans, settings.Place{File: g.file})
		}
	}
	for _, file := range dropIns(folders, dropInFolders(base)) {
		if _, found := parts[filepath.Base(file)]; found {
			continue
		}
		text, err := readText(file)
		if err != nil {
			return nil, &settings.Problem{Place: settings.Place{File: file}, What: "cannot be read: " + err.Error(), Right: "let it be read, or leave it out"}
		}
		parts[filepath.Base(file)] = given{file, text}
	}
	for _, name := range sortedKeys(parts) {
		if err := u.read(parts[name].file, parts[name].text); err != nil {
			return nil, err
		}
	}
	u.neighbours(folders, base)
	if filepath.Ext(base) == ".container" { // podman makes a service of it, which has drop-ins of its own
		service := cmp.Or(u.last("Container.ServiceName", "").value, strings.TrimSuffix(base, ".container")) + ".service"
		if inUse {
			_, folders, _ = search(filepath.Join(root, "/etc/systemd/system", service))
		}
		return u, u.dropIns(folders, service)
	}
	return u, nil
}

// dropIns reads those of a name that lie in some folders.
func (u *unit) dropIns(folders []string, name string) error {
	files := dropIns(folders, dropInFolders(name))
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) })
	for _, file := range files {
		text, err := readText(file)
		if err == nil {
			err = u.read(file, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// neighbours finds what stands beside a unit and bears on it: timers that start it, folders of what it wants, drop-ins
// of its other names, and what systemd-tmpfiles does at boot.
func (u *unit) neighbours(folders []string, base string) {
	for _, folder := range folders {
		mounts, _ := filepath.Glob(filepath.Join(folder, "*.mount"))
		for _, file := range mounts {
			m := &unit{file: file}
			if text, err := readText(file); err == nil && m.read(file, text) == nil {
				u.mounts = append(u.mounts, m)
			}
		}
		for _, ext := range starterForms {
			if file := filepath.Join(folder, strings.TrimSuffix(base, filepath.Ext(base))+ext); exists(file) {
				u.starters = append(u.starters, file)
			}
		}
		for _, key := range []string{"wants", "requires"} {
			found, _ := filepath.Glob(filepath.Join(folder, base+"."+key, "*"))
			for _, file := range found {
				u.lines = append(u.lines, assignment{settings.Place{File: file}, "Unit.Wants", filepath.Base(file)})
			}
		}
		for _, alias := range u.words("Install.Alias") {
			found, _ := filepath.Glob(filepath.Join(folder, alias+".d", "*.conf"))
			for _, file := range found {
				u.orphans = append(u.orphans, settings.Place{File: file})
			}
		}
	}
	if !u.inUse {
		return
	}
	for _, folder := range []string{"etc", "run", "usr/lib"} {
		found, _ := filepath.Glob(filepath.Join(u.root, "/", folder, "tmpfiles.d", "*.conf"))
		for _, file := range found {
			if text, err := readText(file); err == nil {
				u.tmpfiles = append(u.tmpfiles, readTmpfiles(file, text)...)
			}
		}
	}
}

// starterForms are units that start another one of their name.
var starterForms = []string{".timer", ".path", ".socket"}

// tmpfile is a line of tmpfiles.d(5).
type tmpfile struct {
	at              settings.Place
	kind, path, age string
}

func readTmpfiles(file, text string) (all []tmpfile) {
	for i, line := range strings.Split(text, "\n") {
		if f := append(strings.Fields(line), "", "", "", "", "", ""); f[0] != "" && f[0][0] != '#' {
			all = append(all, tmpfile{settings.Place{File: file, Line: i + 1}, f[0], f[1], f[5]})
		}
	}
	return all
}

// weigh judges a line that is about the server's folder: one that makes it or sets its rights, without an age, removes
// nothing. Of a pattern, what comes before its first sign counts.
func (t tmpfile) weigh(s *Server, dir string) {
	begin := t.path[:strings.IndexAny(t.path+"*", "*?[%")]
	_, above := within(dir, t.path)
	_, below := within(t.path, dir)
	if begin != t.path {
		above, below = strings.HasPrefix(dir+"/", begin), strings.HasPrefix(begin, dir+"/")
	}
	if (above || below) && s.mountOf(dir) == nil && (!strings.Contains("dvqQzZaAtThHmxX", t.kind[:1]) || t.age != "" && t.age != "-") {
		s.misses(Data, t.at, t.kind+" "+t.path+" of tmpfiles.d", "remove or replace the data at boot, or once a day")
	}
}

// dropInFolders are the names of the folders of drop-ins for a unit, the most particular first.
func dropInFolders(base string) (names []string) {
	ext := filepath.Ext(base)
	names = append(names, base+".d")
	if prefix, _, template := strings.Cut(base, "@"); template {
		names = append(names, prefix+"@"+ext+".d")
	}
	for i := len(base) - 1; i >= 0; i-- { // redis-.service.d is for every unit whose name begins so
		if base[i] == '-' {
			names = append(names, base[:i+1]+ext+".d")
		}
	}
	return append(names, strings.TrimPrefix(ext, ".")+".d")
}

// dropIns are the files that systemd applies, in no order; of several of one name, the first that counts.
func dropIns(folders, names []string) (files []string) {
	last := len(names) - 1 // of every unit, which counts less than any other wherever it lies
	var all []string
	for _, folder := range folders {
		for _, name := range names[:last] {
			all = append(all, filepath.Join(folder, name))
		}
	}
	for _, folder := range folders {
		all = append(all, filepath.Join(folder, names[last]))
	}
	for _, folder := range all {
		found, _ := filepath.Glob(filepath.Join(folder, "*.conf"))
		for _, file := range found {
			if !slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == filepath.Base(file) }) {
				files = append(files, file)
			}
		}
	}
	return files
}

// isDropIn reports whether a file lies in a folder of drop-ins.
func isDropIn(file string) bool {
	dir := filepath.Base(filepath.Dir(file))
	return filepath.Ext(file) == ".conf" && (strings.HasSuffix(dir, "service.d") || strings.HasSuffix(dir, "container.d"))
}

func sameFile(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}
