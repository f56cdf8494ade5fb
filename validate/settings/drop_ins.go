package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockproof/internal/input"
)

// unitFolders are those that systemd reads, the one that counts for most first
// (systemd.unit(5), System Unit Search Path). Packages' units are in the last ones, and
// what an operator adds is in the first.
var unitFolders = []string{
	"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
}

// dropInFolders are where a service's drop-ins may be: beside it, and, for one that is where
// systemd reads it, in all of systemd's folders.
func dropInFolders(unit string) []string {
	name := filepath.Base(unit) + ".d"
	absolute, err := filepath.Abs(unit)
	if err != nil || !slices.Contains(unitFolders, filepath.ToSlash(filepath.Dir(absolute))) {
		return []string{filepath.Join(filepath.Dir(unit), name)}
	}
	var folders []string
	for _, folder := range unitFolders {
		folders = append(folders, filepath.Join(folder, name))
	}
	return folders
}

// readDropIns reads what systemctl edit leaves for a service: files NAME.service.d/*.conf,
// which count after it, in the order of their names; of those of one name, the one in the
// folder that counts for most.
func (f Files) readDropIns(unit string) ([]source, error) {
	if filepath.Ext(unit) != ".service" {
		return nil, nil
	}
	found := map[string]string{} // the file, by its name
	for _, folder := range dropInFolders(unit) {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		for file := range f {
			if filepath.Dir(file) == filepath.Clean(folder) {
				names = append(names, filepath.Base(file))
			}
		}
		for _, name := range names {
			if _, hidden := found[name]; filepath.Ext(name) == ".conf" && !hidden {
				found[name] = filepath.Join(folder, name)
			}
		}
	}
	if len(found) > mostFiles {
		return nil, fmt.Errorf("%s.d holds more than %d drop-ins", unit, mostFiles)
	}
	var sources []source
	for _, name := range slices.Sorted(maps.Keys(found)) {
		data, err := f.read(found[name], input.Config/8)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{found[name], data})
	}
	return sources, nil
}

// dropIn names the drop-in in which a unit is changed, for its own file is its package's:
// one that counts after those that are there, "" where none would count at all.
func dropIn(sources []source) string {
	unit := sources[0].file
	if filepath.Ext(unit) != ".service" {
		return ""
	}
	name := "lockproof.conf"
	if slices.ContainsFunc(sources[1:], func(s source) bool { return filepath.Base(s.file) > name }) {
		name = "zz-" + name
	}
	return filepath.Join(dropInFolders(unit)[0], name)
}

// inDropIn gives the files with lines of a unit's section Service in its drop-in.
func (f Files) inDropIn(p Policy, lines ...string) (Files, error) {
	if p.DropIn == "" {
		return nil, fmt.Errorf("%s is not named as a service is, so that no drop-in counts beside it", p.File)
	}
	var kept []string
	section := ""
	data, err := f.read(p.DropIn, input.Config/8)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		key, _, assigns := strings.Cut(line, "=")
		if assigns && slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+"=") }) {
			continue // it is set anew
		}
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "[") {
			section = text
		}
		kept = append(kept, line)
	}
	if len(data) == 0 {
		kept = nil
	}
	if section != "[Service]" {
		kept = append(kept, "[Service]")
	}
	return f.with(p.DropIn, strings.Join(append(kept, lines...), "\n")+"\n"), nil
}
