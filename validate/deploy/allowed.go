package deploy

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"example.org/lockproof/validate/settings"
)

//go:embed allowed.txt
var allowedText string

// allowed lists the harmless keys and values by section.
var allowed = func() map[string][]string {
	all, sections := map[string][]string{}, []string(nil)
	for line := range strings.Lines(allowedText) {
		if name, begins := strings.CutPrefix(strings.TrimSpace(line), "["); begins {
			sections = strings.Split(strings.TrimSuffix(name, "]"), " + ")
		} else if !strings.HasPrefix(line, "#") {
			for _, section := range sections {
				all[section] = append(all[section], strings.Fields(line)...)
			}
		}
	}
	return all
}()

// pattern matches any word of a list of patterns.
func pattern(list string) *regexp.Regexp {
	return regexp.MustCompile("^(?:" + strings.Join(allowed[list], "|") + ")$")
}

// valueRule matches the harmless values of a key; any other value breaks the link.
type valueRule struct {
	plain *regexp.Regexp
	link  LinkName
}

// valued are the keys whose value matters.
var valued = func() map[string]valueRule {
	all := map[string]valueRule{}
	for _, link := range chain {
		for _, entry := range allowed["values, "+string(link)] {
			name, pattern, _ := strings.Cut(entry, "=")
			all[name] = valueRule{regexp.MustCompile("^(?:" + pattern + ")$"), link}
		}
	}
	return all
}()

// judgeValue breaks a link if the value of a key is not one of its harmless ones.
func (s *Server) judgeValue(at settings.Place, key string, value any) {
	v, counts := valued[key]
	for _, word := range valueWords(value) {
		if counts && !v.plain.MatchString(word) {
			s.unknown(v.link, at, key+" "+word, "undo what the server's settings promise")
			return
		}
	}
}

// valueWords are the words of a text and of each item of a list, the Name of a mapping, or else its keys.
func valueWords(value any) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		if name, _ := v["Name"].(string); name != "" {
			return []string{name}
		}
		return sortedKeys(v)
	case []any:
		for _, item := range v {
			all = append(all, valueWords(item)...)
		}
		return all
	case nil:
		return nil
	}
	return strings.Fields(fmt.Sprint(value))
}
