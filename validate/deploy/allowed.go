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

// allowed is what is known to do no harm, by where it stands.
var allowed = func() map[string][]string {
	all, section := map[string][]string{}, ""
	for line := range strings.Lines(allowedText) {
		if name, begins := strings.CutPrefix(strings.TrimSpace(line), "["); begins {
			section = strings.TrimSuffix(name, "]")
		} else if !strings.HasPrefix(line, "#") {
			all[section] = append(all[section], strings.Fields(line)...)
		}
	}
	return all
}()

// pattern is for what a whole list names, each word of which is one.
func pattern(list string) *regexp.Regexp {
	return regexp.MustCompile("^(?:" + strings.Join(allowed[list], "|") + ")$")
}

// valueRule is what the value of a key may be, and the link that breaks with another one.
type valueRule struct {
	plain *regexp.Regexp
	link  LinkName
}

// valued are keys whose value counts.
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

// value breaks a link where the value of a key is none of those that it may have.
func (s *Server) value(at settings.Place, key string, value any) {
	v, counts := valued[key]
	for _, word := range valueWords(value) {
		if counts && !v.plain.MatchString(word) {
			s.unknown(v.link, at, key+" "+word, "undo what the server's settings promise")
			return
		}
	}
}

// valueWords are the words of a text, of each item of a list, and the keys of a mapping. Of an item with a Name, that.
func valueWords(value any) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		if name := text(v, "Name"); name != "" {
			return []string{name}
		}
		return keys(v)
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
