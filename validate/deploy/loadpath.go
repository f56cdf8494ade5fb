package deploy

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// loadPath are the folders of units below a machine's root; a file in an earlier folder replaces one in a later.
var loadPath = allowed["load path"]

// search returns the root of a unit's machine and the folders of its parts, in order of precedence. A unit outside of
// the load path has only its own folder.
func search(file string) (root string, folders []string, inUse bool) {
	dir, err := filepath.Abs(filepath.Dir(file))
	for _, below := range loadPath {
		prefix, found := strings.CutSuffix(dir, "/"+below)
		if err != nil || !found || below == "lib/systemd/system" && strings.HasSuffix(prefix, "/usr") {
			continue
		}
		for _, other := range loadPath {
			folders = append(folders, filepath.Join(prefix+"/", other))
		}
		return prefix, folders, true
	}
	return "", []string{filepath.Dir(file)}, false
}

// textFile is a file and its text.
type textFile struct{ file, text string }

// readUnit reads the unit that systemd starts for a given file, with the drop-ins of systemd's folders and those that
// were given.
func (d *Deployment) readUnit(unitFile textFile) (*unit, error) {
	real, err := filepath.EvalSymlinks(unitFile.file) // an alias is a link to the unit
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
			unitFile = textFile{file, text}
			break
		}
	}
	u.file = unitFile.file
	if err := u.read(unitFile.file, unitFile.text); err != nil {
		return nil, err
	}
	if err := u.dropIns(folders, base, d.dropIns, d.units); err != nil {
		return nil, err
	}
	u.readRelated(folders, base)
	for _, starter := range d.starters {
		u.starter = cmp.Or(u.starter, starter.file)
	}
	return u, u.manager()
}

// dropIns reads the given drop-ins of a unit, and then those of the folders. Of several with one file name the first
// counts. Drop-ins for every unit come last, in any folder.
func (u *unit) dropIns(folders []string, base string, more, others []textFile) error {
	names, parts := dropInFolders(base), map[string]textFile{}
	isFor := func(g textFile, base string) bool {
		return slices.Contains(dropInFolders(base), filepath.Base(filepath.Dir(g.file)))
	}
	for _, g := range more {
		if isFor(g, base) {
			parts[filepath.Base(g.file)] = g
		} else if !slices.ContainsFunc(others, func(other textFile) bool { return isFor(g, filepath.Base(other.file)) }) {
			u.orphan(g.file)
		}
	}
	last := len(names) - 1
	for _, of := range [][]string{names[:last], names[last:]} {
		for _, folder := range folders {
			for _, name := range of {
				found, _ := filepath.Glob(filepath.Join(folder, name, "*.conf"))
				for _, file := range found {
					if _, there := parts[filepath.Base(file)]; !there {
						parts[filepath.Base(file)] = textFile{file: file}
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

// orphan reports a drop-in for another name than the unit's.
func (u *unit) orphan(file string) {
	u.doubt(Settings, settings.Place{File: file}, "this drop-in is for another name than that of a unit that was given: "+
		"systemd applies it if it is one of its own (Alias=)")
}

func eachFile(pattern string, do func(file, text string)) {
	found, _ := filepath.Glob(pattern)
	for _, file := range found {
		if text, err := readText(file); err == nil {
			do(file, text)
		}
	}
}

// readRelated reads the files that affect a unit: mounts, timers that start it, its .wants folders, and drop-ins for
// its other names.
func (u *unit) readRelated(folders []string, base string) {
	starter := func(file, _ string) { u.starter = cmp.Or(u.starter, file) }
	orphan := func(file, _ string) { u.orphan(file) }
	for _, folder := range folders {
		in := func(pattern string, do func(file, text string)) { eachFile(filepath.Join(folder, pattern), do) }
		in("*.mount", func(file, text string) {
			same := func(m machineMount) bool { return filepath.Base(m.at.File) == filepath.Base(file) }
			_, none := os.Stat(filepath.Join(u.root, "/etc/fstab"))
			if strings.HasSuffix(folder, "run/systemd/generator") && none == nil {
				return // fstab is read itself
			}
			if m, err := readMount(textFile{file, text}); err == nil && !slices.ContainsFunc(u.mounts, same) {
				u.mounts = append(u.mounts, m)
			}
		})
		if prefix, instance, template := strings.Cut(base, "@"); template && strings.HasPrefix(instance, ".") {
			in(prefix+"@?*"+instance+".d/*.conf", orphan)
		}
		for _, alias := range u.words("Install.Alias") {
			in(alias+".d/*.conf", orphan)
		}
		for _, ext := range starterForms {
			in(strings.TrimSuffix(base, filepath.Ext(base))+ext, starter)
		}
		in("*.service.*/"+base, starter)
		for _, pattern := range []string{"*.*", "*.d/*.conf"} { // other units may start it
			in(pattern, func(file, text string) {
				if filepath.Base(file) != base && filepath.Base(filepath.Dir(file)) != base+".d" {
					u.addOther(file, text, base)
				}
			})
		}
		for _, key := range []string{"wants", "requires"} {
			in(base+"."+key+"/*", func(file, _ string) {
				u.lines = append(u.lines, assignment{settings.Place{File: file}, "Unit.Wants", filepath.Base(file)})
			})
		}
	}
}

// addOther records another unit of the machine, or its drop-in: as a starter of this one, and as
// another program. A template alone runs nothing.
func (u *unit) addOther(file, text, base string) {
	if real, err := filepath.EvalSymlinks(file); err == nil && filepath.Base(real) == base { // an alias of this unit
		return
	}
	ext := filepath.Ext(file)
	names := append(u.words("Install.Alias"), base)
	if slices.Contains([]string{".service", ".target", ".timer", ".path", ".socket", ".conf"}, ext) &&
		slices.ContainsFunc(names, func(name string) bool { return namedBy(text, name) }) {
		u.starter = cmp.Or(u.starter, file)
	}
	if u.inUse && ext == ".service" && !strings.HasSuffix(file, "@.service") {
		u.beside = append(u.beside, textFile{file, text})
	}
}

// starterForms are the extensions of units that start a service of the same name.
var starterForms = []string{".timer", ".path", ".socket"}

// dropInFolders are the names of a unit's drop-in folders, the most specific first.
func dropInFolders(base string) (names []string) {
	ext := filepath.Ext(base)
	names = append(names, base+".d")
	if prefix, _, template := strings.Cut(base, "@"); template {
		names = append(names, prefix+"@"+ext+".d")
	}
	for i := len(base) - 1; i >= 0; i-- { // redis-.service.d is for every unit that begins with redis-
		if base[i] == '-' {
			names = append(names, base[:i+1]+ext+".d")
		}
	}
	return append(names, strings.TrimPrefix(ext, ".")+".d")
}

func isDropIn(file string) bool {
	dir := filepath.Base(filepath.Dir(file))
	return filepath.Ext(file) == ".conf" && (strings.HasSuffix(dir, "service.d") || strings.HasSuffix(dir, "mount.d"))
}

func sameFile(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}
