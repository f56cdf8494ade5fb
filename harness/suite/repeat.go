package suite

import (
	"fmt"
	"strings"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/wording"
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
		lock = " --worker " + wording.Quote(wording.Command(o.Worker))
	case err == nil && k.External:
		what = ""
	case j.Lock != "":
		lock = " --lock " + j.Lock
	}
	if what == "" {
		return ""
	}
	command := "lockproof run " + wording.Quote(what)
	if o.Cluster != Virtual {
		command += " --on " + o.Cluster
	}
	for _, flag := range []struct{ name, value string }{{"server", o.Server}, {"image", o.Image}} {
		if flag.value != "" {
			command += fmt.Sprintf(" --%s %s", flag.name, wording.Quote(flag.value))
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
