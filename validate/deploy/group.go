package deploy

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// candidates are the names' ends of what may be a part of a deployment.
var candidates = []string{".conf", ".service", ".container", ".yaml", ".yml", ".json", ".tf", ".nomad", ".hcl"}

// mentions is what a file says that has to do with a server of locks. It only chooses what a linter opens.
var (
	mentions   = regexp.MustCompile(`(?i)redis|valkey|keydb|dragonfly|(?m:^\s*appendonly\s)`)
	objectLine = regexp.MustCompile(`(?m)^kind:|"kind":`)
)

// deployable is what a folder has: units, settings, Kubernetes objects that mention Redis, and others.
type deployable struct{ units, confs, objects, others []string }

// Group finds the deployments below a folder: a unit or a compose file with what it names is one, and the Kubernetes
// objects of a folder are one, and so are its redis.conf and sentinel.conf that none of the others names.
func Group(folder string) (groups [][]string, err error) {
	folders, texts := map[string]*deployable{}, map[string]string{}
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "node_modules" || strings.HasSuffix(name, ".service.d") ||
			name == "service.d"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !slices.Contains(candidates, filepath.Ext(name)) ||
			strings.Contains(name, "compose.override."): // its base file is merged with it
			return nil
		}
		data, err := readText(file)
		mentioned := mentions.MatchString(data)
		object := objectLine.MatchString(data) || strings.HasPrefix(name, "kustomization.") // which changes objects
		if err != nil || !mentioned && !object {
			return nil
		}
		dir, ext := filepath.Dir(file), filepath.Ext(name)
		if folders[dir] == nil {
			folders[dir] = &deployable{}
		}
		switch c := folders[dir]; {
		case ext == ".service" || ext == ".container":
			c.units, texts[file] = append(c.units, file), data
		case ext == ".conf":
			c.confs = append(c.confs, file)
		case object && !mentioned: // which may touch those of the others
			c.others = append(c.others, file)
		case object:
			c.objects = append(c.objects, file)
		case strings.Contains(data, "services:") || strings.Contains(data, "HostConfig") ||
			sourceOf(given{file, data}) != nil:
			groups, texts[file] = append(groups, []string{file}), data
		}
		return nil
	})
	for _, dir := range sortedKeys(folders) {
		groups = append(groups, folders[dir].groups(texts)...)
	}
	return groups, err
}

// groups are the deployments of one folder. texts are what names others, by file.
func (c *deployable) groups(texts map[string]string) (groups [][]string) {
	named := func(conf string, by ...string) bool {
		return slices.ContainsFunc(by, func(file string) bool { return strings.Contains(texts[file], filepath.Base(conf)) })
	}
	for _, unit := range c.units {
		groups = append(groups, append([]string{unit},
			slices.DeleteFunc(slices.Clone(c.confs), func(conf string) bool { return !named(conf, unit) })...))
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
