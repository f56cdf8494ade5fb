package deploy

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"example.org/lockproof/validate/settings"
)

// merged is the place of what docker compose merges with a file, where only its own output says what comes of that: a
// second file of the folder, an override beside it, or a variable that names other files.
func (d document) merged(all []document) (at settings.Place, found bool) {
	for _, other := range all {
		if !reflect.DeepEqual(other.root, d.root) && filepath.Dir(other.file) == filepath.Dir(d.file) {
			return other.at(), true
		}
	}
	env := filepath.Join(filepath.Dir(d.file), ".env")
	if text, err := readText(env); err == nil && composeFile.MatchString(text) && !isPipe(d.file) {
		return settings.Place{File: env}, true
	}
	base := strings.TrimSuffix(filepath.Base(d.file), filepath.Ext(d.file))
	over, _ := filepath.Glob(filepath.Join(filepath.Dir(d.file), "*compose.override.y*ml"))
	if (base == "compose" || base == "docker-compose") && len(over) > 0 {
		return settings.Place{File: over[0]}, true
	}
	return at, false
}

// composeFile is the variable by which docker compose finds its files.
var composeFile = regexp.MustCompile(`(?m)^\s*(?:export\s+)?COMPOSE_FILE\s*=`)

// keyed is a mapping that is written as a list of NAME=value.
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
