package deploy

import (
	_ "embed"
	"strings"
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
