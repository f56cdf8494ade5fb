package suite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"lockproof/harness/locks"
	"lockproof/scenarios"
)

// repeat is the command that runs one trial again, "" where there is none: the
// scenario was made for a question, and is in no file; or the lock is another
// program's.
func (o Options) repeat(j Job, seed uint64) string {
	if k, err := locks.Find(j.Lock); err == nil && k.Foreign {
		return ""
	}
	what := j.Scenario.File
	if known, err := scenarios.Select([]string{j.Scenario.Name}); err == nil && known[0].File == j.Scenario.File {
		what = j.Scenario.Name
	}
	if what == "" {
		return ""
	}
	command := fmt.Sprintf("lockproof run %s --seed %d", quoted(what), seed)
	if o.TTL > 0 {
		command += " --ttl " + o.TTL.String()
	}
	if j.Lock != "" {
		command += " --lock " + j.Lock
	}
	if len(j.Without) > 0 {
		command += " --without " + strings.Join(j.Without, ",")
	}
	return command
}

// bare is what a shell takes as it stands.
var bare = regexp.MustCompile(`^[\w./@%+=:,-]+$`)

func quoted(word string) string {
	if bare.MatchString(word) {
		return word
	}
	return strconv.Quote(word)
}
