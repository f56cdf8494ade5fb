package suite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"example.org/lockproof/harness/locks"
)

// repeat is the command that runs one trial again; "" if the scenario is in no file, or if no flag can name the lock.
func (o Options) repeat(j Job, seed uint64) string {
	what := j.Scenario.File
	if j.Scenario.InCatalogue() {
		what = j.Scenario.Name
	}
	lock := ""
	switch k, err := locks.Find(j.Lock); {
	case len(o.Worker) > 0:
		lock = " --worker " + quoted(commandLine(o.Worker))
	case err == nil && k.External:
		what = ""
	case j.Lock != "":
		lock = " --lock " + j.Lock
	}
	if what == "" {
		return ""
	}
	command := "lockproof run " + quoted(what)
	if o.Cluster != Virtual {
		command += " --on " + o.Cluster
	}
	for _, flag := range []struct{ name, value string }{{"server", o.Server}, {"image", o.Image}} {
		if flag.value != "" {
			command += fmt.Sprintf(" --%s %s", flag.name, quoted(flag.value))
		}
	}
	command += lock
	if o.Nodes > 0 {
		command += fmt.Sprintf(" --nodes %d", o.Nodes)
	}
	if len(j.Without) > 0 {
		command += " --without " + strings.Join(j.Without, ",")
	}
	if o.TTL > 0 {
		command += " --ttl " + o.TTL.String()
	}
	return fmt.Sprintf("%s --seed %d", command, seed)
}

// shellSafe matches a word that needs no quotes in a shell.
var shellSafe = regexp.MustCompile(`^[\w./@%+=:,-]+$`)

func quoted(word string) string {
	if shellSafe.MatchString(word) {
		return word
	}
	if !strings.ContainsAny(word, "'") {
		return "'" + word + "'"
	}
	return strconv.Quote(word)
}

// commandLine is the inverse of external.Split.
func commandLine(words []string) string {
	parts := make([]string, len(words))
	for i, word := range words {
		if parts[i] = word; !shellSafe.MatchString(word) {
			parts[i] = strconv.Quote(word)
		}
	}
	return strings.Join(parts, " ")
}
