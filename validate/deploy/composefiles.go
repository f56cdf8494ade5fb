package deploy

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// composeProjects merges the compose files of a folder, in their order, as docker compose -f a -f b does. A file that
// was given alone is merged with its override, as docker compose does by itself.
func composeProjects(all []document) (projects []document, err error) {
	for _, doc := range all {
		same := slices.IndexFunc(projects, func(p document) bool { return filepath.Dir(p.file) == filepath.Dir(doc.file) })
		if same < 0 {
			projects = append(projects, doc)
			continue
		}
		projects[same] = projects[same].overlaid(doc)
	}
	for i, p := range projects {
		env := filepath.Join(filepath.Dir(p.file), ".env")
		if text, err := readText(env); err == nil && composeFile.MatchString(text) && len(p.layers) == 0 {
			projects[i].tagged = settings.Place{File: env}
		}
		base := strings.TrimSuffix(filepath.Base(p.file), filepath.Ext(p.file))
		over, _ := filepath.Glob(filepath.Join(filepath.Dir(p.file), "*compose.override.y*ml"))
		if len(p.layers) > 0 || base != "compose" && base != "docker-compose" || len(over) == 0 {
			continue
		}
		if len(over) > 1 {
			projects[i].tagged = settings.Place{File: over[1]}
		}
		data, err := readText(over[0])
		if err != nil {
			return nil, &settings.Problem{Place: settings.Place{File: over[0]}, What: "cannot be read: " + err.Error(),
				Right: Wanted}
		}
		documents, err := readDocuments(over[0], []byte(data))
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			projects[i] = projects[i].overlaid(d)
		}
	}
	return projects, nil
}

// composeFile is the variable by which docker compose finds its files.
var composeFile = regexp.MustCompile(`(?m)^\s*(?:export\s+)?COMPOSE_FILE\s*=`)

// overlaid is a document with another one over it (the Compose specification, Merge).
func (d document) overlaid(over document) document {
	if len(d.layers) == 0 {
		d.layers = []document{d}
	}
	d.layers = append(d.layers, over)
	d.root = asMap(mergeCompose(any(d.root), any(over.root), ""))
	return d
}

// replacedLists are those of which the last counts alone, and keyedLists those that are mappings written as lists.
var (
	replacedLists = strings.Fields("command entrypoint test")
	keyedLists    = strings.Fields("environment labels annotations networks depends_on sysctls extra_hosts args")
)

func mergeCompose(base, over any, key string) any {
	if slices.Contains(keyedLists, key) {
		base, over = keyed(base), keyed(over)
	}
	b, baseMap := base.(map[string]any)
	o, overMap := over.(map[string]any)
	switch {
	case over == nil && !slices.Contains(replacedLists, key):
		return base
	case baseMap && overMap:
		merged := maps.Clone(b)
		for name, value := range o {
			merged[name] = mergeCompose(b[name], value, name)
		}
		return merged
	case slices.Contains(replacedLists, key) || base == nil:
		return over
	}
	if key == "tmpfs" || key == "env_file" {
		base, over = asList(base), asList(over)
	}
	first, second := list(base), list(over)
	if first == nil || second == nil {
		return over
	}
	if slices.Contains([]string{"volumes", "configs", "secrets"}, key) { // one of a target
		first = slices.DeleteFunc(slices.Clone(first), func(v any) bool {
			return slices.ContainsFunc(second, func(w any) bool { return targetOf(v, key) == targetOf(w, key) })
		})
	}
	return slices.Concat(first, second)
}

func targetOf(v any, key string) string {
	if key == "volumes" {
		return path.Clean(readVolume(v).to)
	}
	if m := asMap(v); m != nil {
		return fmt.Sprint(m["source"], m["target"])
	}
	return fmt.Sprint(v)
}

func asList(v any) []any {
	if l := list(v); l != nil {
		return l
	}
	return []any{v}
}

func keyed(v any) any {
	if list(v) == nil {
		return v
	}
	m := map[string]any{}
	for _, item := range list(v) {
		name, value, set := strings.Cut(fmt.Sprint(item), "=")
		if m[name] = any(value); !set {
			m[name] = nil
		}
	}
	return m
}

// composeTag takes back what a file before has said.
var composeTag = regexp.MustCompile(`(?m)(?:^|[\s:,\[-])!(?:reset|override)\b`)

// folder is where the relative paths of a compose file begin: its own folder.
func (d document) folder() string {
	if isPipe(d.file) {
		return "."
	}
	folder, err := filepath.Abs(filepath.Dir(d.file))
	if err != nil {
		return "."
	}
	return folder
}
