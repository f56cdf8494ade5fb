package deploy

import (
	"io/fs"
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

// Group finds the deployments below a folder: a unit with the settings that it names, a compose file, the Kubernetes
// objects of a folder, and the other redis.conf and sentinel.conf of a folder.
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
		object := objectLine.MatchString(data) || strings.HasPrefix(name, "kustomization.") // it changes objects
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
		case object && !mentioned: // it may affect objects of the deployment
			c.others = append(c.others, file)
		case object:
			c.objects = append(c.objects, file)
		case strings.Contains(data, "services:") || strings.Contains(data, "HostConfig") ||
			sourceOf(textFile{file, data}) != nil:
			groups, texts[file] = append(groups, []string{file}), data
		}
		return nil
	})
	for _, dir := range sortedKeys(folders) {
		groups = append(groups, folders[dir].groups(texts)...)
	}
	return groups, err
}

// groups are the deployments of one folder. texts has the files that may name others.
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
