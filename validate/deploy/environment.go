package deploy

import (
	"fmt"
	"regexp"
	"strings"

	"example.org/lockproof/internal/input"
	"example.org/lockproof/validate/settings"
)

// inertName matches variables that do not affect a server.
var inertName = pattern("variables")

func inert(name string) bool { return inertName.MatchString(name) }

// variable judges one of a server's variables. A used one without an underscore is the command's own: the names that
// the loader or a library reads have one (ld.so(8), malloc(3), openssl-env(7)).
func (s *Server) variable(at settings.Place, name string, used bool) {
	own := used && !strings.Contains(name, "_") && name != "PATH"
	if !inert(name) && !own {
		s.unknown(Program, at, "the variable "+name, "change what the program does")
	}
}

// variableLine is a line of an environment file that systemd, compose and the engines read alike: a bare value, or one
// in quotes that end with the line. Any other value could continue on the next line.
var variableLine = regexp.MustCompile(`^\s*(export\s+)?([A-Za-z_]\w*)=` +
	`(?:"([^"\\]*)"|'([^'\\]*)'|([^"'\s].*[^\\]|[^"'\s\\]?))\s*$`)

// readEnvironment reads an environment file; compose accepts export, and systemd does not. A value with variables,
// escapes or comments counts as an unset variable.
func readEnvironment(file string, exports bool) (map[string]string, error) {
	data, err := input.Read(file, input.Config)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		m := variableLine.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "" || isComment(line) && !strings.HasSuffix(strings.TrimSpace(line), `\`):
			continue
		case m == nil || m[1] != "" && !exports:
			return nil, fmt.Errorf("%s:%d: this is no variable", file, i+1)
		}
		name, value := m[2], m[3]+m[4]+m[5]
		if strings.Contains(value, "$") || strings.ContainsAny(m[5], `\#"'`) {
			value = "$" + name
		}
		values[name] = value
	}
	return values, nil
}
