package deploy

import (
	"fmt"
	"regexp"
	"strings"

	"example.org/lockproof/internal/input"
)

// inertName are variables of the environment that neither a server, nor the dynamic loader, nor the C library, nor a
// shell reads: places, names, and those of programs beside it. What a command or an image uses is read apart.
var inertName = regexp.MustCompile(`^(?:TZ|LANG|LC_[A-Z]+|HOME|USER|TERM|HOSTNAME|MASTER|PUID|PGID|UMASK|` +
	`OPTIONS|ARGS|DAEMON_ARGS|DEBUG|` +
	`REDISCLI_AUTH|(?:REDIS|VALKEY|POD|NODE|K8S|KUBERNETES|SERVICE|APP|CLUSTER|LOCK)_[A-Z0-9_]+|` +
	`[A-Z][A-Z0-9_]*_(?:PASSWORD|PASS|HOST|PORT|USER|` +
	`USERNAME|NAME|NAMESPACE|URL|ID|ADDR|IP|TOKEN|VERSION|SHA|REGION|ZONE|LEVEL|MODE|REPLICATION))$`)

// inert reports whether a variable has no part in what a server does by itself.
func inert(name string) bool { return inertName.MatchString(name) }

// plainName reports whether a variable is in one word: none that the loader or a library reads (ld.so(8), malloc(3),
// openssl-env(7)) is, so that one which the command uses is the command's own.
func plainName(name string) bool { return !strings.Contains(name, "_") && name != "PATH" }

// readEnvironment reads a file of variables, as systemd, compose and the engines do: NAME=value, one a line. A value
// with variables in it is a variable itself.
func readEnvironment(file string) (map[string]string, error) {
	data, err := input.Read(file, input.Config)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found || strings.HasSuffix(line, `\`) {
			return nil, fmt.Errorf("%s:%d: this is no variable", file, i+1)
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if quote := strings.Trim(value, `"'`); len(value) > 1 && len(quote) == len(value)-2 &&
			value[0] == value[len(value)-1] {
			value = quote
		}
		if strings.Contains(value, "$") {
			value = "$" + name
		}
		values[name] = value
	}
	return values, nil
}
