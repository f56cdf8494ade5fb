package locktest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// childRole is what a test binary that was started by another is to do, and for which
// Run.
type childRole struct {
	Test string `json:"test"`
	// Call counts the calls of Run in one test, from 1.
	Call int `json:"call"`
	// Worker: it is one client, in real time; otherwise it serves trials.
	Worker bool `json:"worker,omitempty"`
	// Abilities is what has been found out about the lock; nil: nothing yet.
	Abilities *locks.Abilities `json:"found,omitempty"`
}

// roleFlag comes before a part among a child's arguments, where nobody else sees it.
const roleFlag = "-lockproof.part="

// role is this process's part, nil if it has none, and out its stdout.
var (
	role *childRole
	out  = os.Stdout
)

// A child's stdout is for its orders' answers, from before anybody else's code can
// print; and its part is no flag of the test's.
func init() {
	process.EndWith(os.Getenv(process.RecordVariable)) // here go does not note it for its cache of results
	for i, arg := range os.Args {
		text, found := strings.CutPrefix(arg, roleFlag)
		if !found {
			continue
		}
		role = &childRole{}
		if err := json.Unmarshal([]byte(text), role); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", arg, err)
			os.Exit(1)
		}
		os.Args = append(os.Args[:i:i], os.Args[i+1:]...)
		os.Stdout = os.Stderr
		return
	}
}

// calls counts the calls of Run in each test that is under way.
var calls = struct {
	sync.Mutex
	of map[string]int
}{of: map[string]int{}}

// nextCall names a call of Run as its children do.
func nextCall(t *testing.T) childRole {
	calls.Lock()
	defer calls.Unlock()
	name := t.Name()
	if calls.of[name]++; calls.of[name] == 1 {
		t.Cleanup(func() { // the test may be run again in this process
			calls.Lock()
			defer calls.Unlock()
			delete(calls.of, name)
		})
	}
	return childRole{Test: name, Call: calls.of[name]}
}

// command is the command line of a child with that part: it comes to the same call
// of Run, with the flags that were given to the test.
func (p childRole) command() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the test binary to run trials in it: %w", err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(p.Test, "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	command := []string{self, roleFlag + string(text), "-test.run=" + strings.Join(names, "/")}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") || f.Name == "test.short" {
			command = append(command, "-"+f.Name+"="+f.Value.String())
		}
	})
	return append(command, flag.Args()...), nil
}

// matches says whether a process with this part has come to the call of Run that it was
// started for.
func (p childRole) matches(call childRole) bool { return p.Test == call.Test && p.Call == call.Call }

// serve does a child's work, and ends the process.
func (p childRole) serve() {
	var err error
	if p.Worker {
		err = client.ServeWorker(os.Stdin, out)
	} else {
		err = suite.ServeTrials(os.Stdin, out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
