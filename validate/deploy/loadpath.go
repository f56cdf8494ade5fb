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
func readUnit(unitFile given, more []given) (*unit, error) {
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
	return u, nil
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
