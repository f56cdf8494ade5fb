package deploy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// candidates are the extensions of files that may belong to a deployment.
var candidates = []string{".conf", ".service", ".container", ".yaml", ".yml", ".json", ".tf", ".nomad", ".hcl"}

// mentions matches files about a lock server. It only chooses the files that a linter opens.
var (
	mentions   = regexp.MustCompile(`(?i)redis|valkey|keydb|dragonfly|(?m:^\s*appendonly\s)`)
	objectLine = regexp.MustCompile(`(?m)^kind:|"kind":`)
)

// deployable has a folder's files by kind: units, settings, Kubernetes objects that mention Redis, and other objects.
type deployable struct{ units, confs, objects, others []string }

// candidateFiles are the files of a folder and below it that may belong to a deployment.
type candidateFiles struct {
	groups  [][]string             // of one file each
	folders map[string]*deployable // by path
	texts   map[string]string      // of the files that may name others
	dropIns []string
}

// Group finds the deployments below a folder: a unit with the settings that it names and its drop-ins, a compose file,
// the Kubernetes objects of a folder, and the other redis.conf and sentinel.conf of a folder.
func Group(folder string) ([][]string, error) {
	f := &candidateFiles{folders: map[string]*deployable{}, texts: map[string]string{}}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "node_modules"):
			return fs.SkipDir
		case isCandidate(name) && isFile(folder, file, entry) &&
			!strings.Contains(name, "compose.override."): // its base file is merged with it
			f.add(file)
		}
		return nil
	})
	parts, groups := f.partsOfUnits(), f.groups
	for _, dir := range sortedKeys(f.folders) {
		groups = append(groups, f.folders[dir].groups(f.texts, parts)...)
	}
	return groups, err
}

func isCandidate(file string) bool {
	return slices.Contains(candidates, strings.ToLower(filepath.Ext(file)))
}

// isFile reports whether an entry is a file, or a link to one that is not opened by its own name below the folder. A
// link to nothing may be a file on another machine.
func isFile(folder, file string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(file)
	real, _ := filepath.EvalSymlinks(file)
	root, _ := filepath.EvalSymlinks(folder)
	inside, cause := filepath.Rel(root, real)
	opened := cause == nil && filepath.IsLocal(inside) && isCandidate(real)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && !opened
}

func (f *candidateFiles) folder(dir string) *deployable {
	if f.folders[dir] == nil {
		f.folders[dir] = &deployable{}
	}
	return f.folders[dir]
}

func (f *candidateFiles) add(file string) {
	data, err := readText(file)
	dir, name := filepath.Split(file)
	dir, ext := filepath.Clean(dir), strings.ToLower(filepath.Ext(name))
	mentioned, dropIn := mentions.MatchString(data), isDropIn(file)
	object := objectLine.MatchString(data) || strings.HasPrefix(name, "kustomization.") // it changes objects
	switch c := f.folder(dir); {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist): // whoever reads the group reports it
		f.groups = append(f.groups, []string{file})
	case err != nil, !mentioned && !object && !(dropIn && mentions.MatchString(filepath.Base(dir))):
	case dropIn:
		f.dropIns, f.texts[file] = append(f.dropIns, file), data
	case ext == ".service" || ext == ".container":
		c.units, f.texts[file] = append(c.units, file), data
	case ext == ".conf":
		c.confs = append(c.confs, file)
	case object && !mentioned: // it may affect objects of the deployment
		c.others = append(c.others, file)
	case object:
		c.objects = append(c.objects, file)
	case strings.Contains(data, "services:") || strings.Contains(data, "HostConfig") ||
		sourceOf(textFile{file, data}) != nil:
		f.groups, f.texts[file] = append(f.groups, []string{file}), data
	}
}

// partsOfUnits returns the drop-ins of each unit that systemd would not find beside it. One without a unit is a
// deployment of its own, whose rest is elsewhere.
func (f *candidateFiles) partsOfUnits() map[string][]string {
	parts, units := map[string][]string{}, []string(nil)
	for _, dir := range sortedKeys(f.folders) {
		units = append(units, f.folders[dir].units...)
	}
	for _, file := range f.dropIns {
		folder, alone := filepath.Dir(file), true
		for _, unit := range units {
			if !slices.Contains(dropInFolders(filepath.Base(unit)), filepath.Base(folder)) {
				continue
			}
			alone = false
			_, searched, _ := search(unit)
			if !slices.ContainsFunc(searched, func(s string) bool { return sameFile(s, filepath.Dir(folder)) }) {
				parts[unit] = append(parts[unit], file)
			}
		}
		if alone {
			c := f.folder(folder)
			c.units = append(c.units, file)
		}
	}
	return parts
}

// groups are the deployments of one folder. texts has the files that may name others, and parts the drop-ins of units.
func (c *deployable) groups(texts map[string]string, parts map[string][]string) (groups [][]string) {
	named := func(conf string, by ...string) bool {
		return slices.ContainsFunc(by, func(file string) bool { return strings.Contains(texts[file], filepath.Base(conf)) })
	}
	for _, unit := range c.units {
		groups = append(groups, slices.Concat([]string{unit}, parts[unit],
			slices.DeleteFunc(slices.Clone(c.confs), func(conf string) bool { return !named(conf, unit) })))
	}
	if len(c.objects) > 0 {
		c.objects = append(c.objects, c.others...)
	}
	rest := slices.DeleteFunc(c.confs, func(conf string) bool { return named(conf, sortedKeys(texts)...) })
	for _, group := range [][]string{c.objects, rest} {
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}
