package deploy

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// loadPaths are the folders of units and of quadlets below the root of a machine; what the first has replaces what a
// later one has (systemd.unit(5), Unit File Load Path; podman-systemd.unit(5)).
var loadPaths = map[string][]string{
	".service": strings.Fields(`etc/systemd/system.control run/systemd/system.control run/systemd/transient
	run/systemd/generator.early
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
	all, own := loadPaths[filepath.Ext(file)]
	if !own {
		all = loadPaths[".service"]
	}
	for _, below := range all {
		prefix, found := strings.CutSuffix(dir, "/"+below)
		if !found || below == "lib/systemd/system" && strings.HasSuffix(prefix, "/usr") {
			continue
		}
		for _, other := range all {
			folders = append(folders, filepath.Join(prefix+"/", other))
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
	real, err := filepath.EvalSymlinks(unitFile.file) // of an alias the unit that it leads to has the name
	if _, _, there := search(real); err == nil && there && !strings.Contains(real, "@") {
		unitFile.file = real
	}
	root, folders, inUse := search(unitFile.file)
	u, base := &unit{root: root, inUse: inUse}, filepath.Base(unitFile.file)
	for _, folder := range folders {
		file := filepath.Join(folder, base)
		if sameFile(file, unitFile.file) {
			break
		}
		if text, err := readText(file); err == nil {
			unitFile = given{file, text}
			break
		}
	}
	u.file = unitFile.file
	if err := u.read(unitFile.file, unitFile.text); err != nil {
		return nil, err
	}
	if err := u.dropIns(folders, base, more, others); err != nil {
		return nil, err
	}
	u.neighbours(folders, base)
	if err := u.manager(); err != nil {
		return nil, err
	}
	if filepath.Ext(base) == ".container" { // podman makes a service of it, which has drop-ins of its own
		service := cmp.Or(u.last("Container.ServiceName", "").value, strings.TrimSuffix(base, ".container")) + ".service"
		if inUse {
			_, folders, _ = search(filepath.Join(root, "/etc/systemd/system", service))
		}
		return u, u.dropIns(folders, service, nil, nil)
	}
	return u, nil
}

// readMount reads a mount unit with its drop-ins.
func readMount(g given, more, others []given) (*unit, error) {
	root, folders, inUse := search(g.file)
	u := &unit{file: g.file, root: root, inUse: inUse}
	if err := u.read(g.file, g.text); err != nil {
		return nil, err
	}
	return u, u.dropIns(folders, filepath.Base(g.file), more, others)
}

// dropIns reads those of a name that were given, and then those that lie in some folders: of several of one name, the
// first that counts. Those of every unit count less than any other, wherever they lie.
func (u *unit) dropIns(folders []string, base string, more, others []given) error {
	names, parts := dropInFolders(base), map[string]given{}
	isFor := func(g given, base string) bool {
		return slices.Contains(dropInFolders(base), filepath.Base(filepath.Dir(g.file)))
	}
	for _, g := range more {
		if isFor(g, base) {
			parts[filepath.Base(g.file)] = g
		} else if !slices.ContainsFunc(others, func(other given) bool { return isFor(g, filepath.Base(other.file)) }) {
			u.orphans = append(u.orphans, settings.Place{File: g.file})
		}
	}
	last := len(names) - 1
	for _, of := range [][]string{names[:last], names[last:]} {
		for _, folder := range folders {
			for _, name := range of {
				found, _ := filepath.Glob(filepath.Join(folder, name, "*.conf"))
				for _, file := range found {
					if _, there := parts[filepath.Base(file)]; !there {
						parts[filepath.Base(file)] = given{file: file}
					}
				}
			}
		}
	}
	for _, name := range sortedKeys(parts) {
		part, err := parts[name], error(nil)
		if part.text == "" {
			part.text, err = readText(part.file)
		}
		if err != nil {
			return &settings.Problem{Place: settings.Place{File: part.file}, What: "cannot be read: " + err.Error(),
				Right: "let it be read, or leave it out"}
		}
		if err := u.read(part.file, part.text); err != nil {
			return err
		}
	}
	return nil
}

// neighbours finds what stands beside a unit and bears on it: mounts, timers that start it, folders of what it wants,
// drop-ins of its other names, and what systemd-tmpfiles does at boot.
func (u *unit) neighbours(folders []string, base string) {
	each := func(folder, pattern string, do func(file, text string)) {
		found, _ := filepath.Glob(filepath.Join(folder, pattern))
		for _, file := range found {
			if text, err := readText(file); err == nil {
				do(file, text)
			}
		}
	}
	for _, folder := range folders {
		each(folder, "*.mount", func(file, text string) {
			same := func(m *unit) bool { return filepath.Base(m.file) == filepath.Base(file) }
			if strings.HasSuffix(folder, "run/systemd/generator") && exists(filepath.Join(u.root, "/etc/fstab")) {
				return // which is read itself
			}
			if m, err := readMount(given{file, text}, nil, nil); err == nil && !slices.ContainsFunc(u.mounts, same) {
				u.mounts = append(u.mounts, m)
			}
		})
		if prefix, instance, is := strings.Cut(base, "@"); is && strings.HasPrefix(instance, ".") {
			each(folder, prefix+"@?*"+instance+".d/*.conf",
				func(file, _ string) { u.orphans = append(u.orphans, settings.Place{File: file}) })
		}
		for _, ext := range starterForms {
			each(folder, strings.TrimSuffix(base, filepath.Ext(base))+ext,
				func(file, _ string) { u.starters = append(u.starters, file) })
		}
		for _, pattern := range []string{"*.*", "*.d/*.conf"} { // and those of other names that start it
			each(folder, pattern, func(file, text string) {
				if filepath.Base(file) != base && filepath.Base(filepath.Dir(file)) != base+".d" {
					u.other(file, text, base)
				}
			})
		}
		each(folder, "*.service.*/"+base, func(file, _ string) { u.starters = append(u.starters, file) })
		for _, key := range []string{"wants", "requires"} {
			each(folder, base+"."+key+"/*", func(file, _ string) {
				u.lines = append(u.lines, assignment{settings.Place{File: file}, "Unit.Wants", filepath.Base(file)})
			})
		}
		for _, alias := range u.words("Install.Alias") {
			each(folder, alias+".d/*.conf", func(file, _ string) { u.orphans = append(u.orphans, settings.Place{File: file}) })
		}
	}
	for _, folder := range []string{"etc", "run", "usr/local/lib", "usr/lib"} {
		if u.inUse {
			each(filepath.Join(u.root, "/", folder, "tmpfiles.d"), "*.conf", func(file, text string) {
				u.tmpfiles = append(u.tmpfiles, readTmpfiles(file, text)...)
			})
		}
	}
}

// other keeps another unit of the machine, or its drop-in: whether it starts this one, and what
// it runs. A template is no unit yet.
func (u *unit) other(file, text, base string) {
	if real, err := filepath.EvalSymlinks(file); err == nil && filepath.Base(real) == base { // an alias of it
		return
	}
	ext := filepath.Ext(file)
	names := append(u.words("Install.Alias"), base)
	if slices.Contains([]string{".service", ".target", ".timer", ".path", ".socket", ".conf"}, ext) &&
		slices.ContainsFunc(names, func(name string) bool { return namedBy(text, name) }) {
		u.starters = append(u.starters, file)
	}
	if u.inUse && ext == ".service" && !strings.HasSuffix(file, "@.service") {
		u.beside = append(u.beside, given{file, text})
	}
}

// starterForms are units that start another one of their name.
var starterForms = []string{".timer", ".path", ".socket"}

// tmpfile is a line of tmpfiles.d(5).
type tmpfile struct {
	at              settings.Place
	path, kind, age string
}

func readTmpfiles(file, text string) (all []tmpfile) {
	for i, line := range strings.Split(text, "\n") {
		if f := append(strings.Fields(line), "", "", "", "", "", ""); f[0] != "" && f[0][0] != '#' {
			all = append(all, tmpfile{settings.Place{File: file, Line: i + 1}, f[1], f[0], f[5]})
		}
	}
	return all
}

// weigh judges a line that is about the machine's folder that the server writes to: one that makes it or sets its
// rights, without an age, removes nothing. Of a pattern, what comes before its first sign counts.
func (t tmpfile) weigh(s *Server, dir string) {
	begin := t.path[:strings.IndexAny(t.path+"*", "*?[%\"'\\")]
	_, above := within(dir, t.path)
	_, below := within(t.path, dir)
	if begin != t.path {
		above, below = strings.HasPrefix(dir+"/", begin), strings.HasPrefix(begin, dir+"/")
	}
	if (above || below) && (!strings.Contains("dvqQzZaAtThHmxX", t.kind[:1]) ||
		t.age != "" && t.age != "-") {
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

// isDropIn reports whether a file lies in a folder of drop-ins.
func isDropIn(file string) bool {
	dir := filepath.Base(filepath.Dir(file))
	return filepath.Ext(file) == ".conf" && (strings.HasSuffix(dir, "service.d") ||
		strings.HasSuffix(dir, "container.d") || strings.HasSuffix(dir, "mount.d"))
}

func sameFile(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}
