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

// childRole is the task of a test binary that another one started, and the call of Run that it is for.
type childRole struct {
	Test string `json:"test"`
	// Call counts the calls of Run in one test, from 1.
	Call int `json:"call"`
	// Worker: it is one client, in real time; otherwise it serves trials.
	Worker bool `json:"worker,omitempty"`
	// Abilities of the lock; nil before its first lease.
	Abilities *locks.Abilities `json:"found,omitempty"`
}

// roleFlag precedes the role among a child's arguments. init removes it before the test parses its flags.
const roleFlag = "-lockproof.part="

// role is nil in the process that the user started. stdout is the real one.
var (
	role   *childRole
	stdout = os.Stdout
)

// init reserves a child's stdout for its replies before other code can print to it.
func init() {
	process.EndWith(os.Getenv(process.RecordVariable)) // in init, go's test cache does not record the variable
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

// calls counts the calls of Run in each running test.
var calls = struct {
	sync.Mutex
	byTest map[string]int
}{byTest: map[string]int{}}

// nextCall identifies a call of Run in the same way in the parent and its children.
func nextCall(t *testing.T) childRole {
	calls.Lock()
	defer calls.Unlock()
	name := t.Name()
	if calls.byTest[name]++; calls.byTest[name] == 1 {
		t.Cleanup(func() { // the test may run again in this process
			calls.Lock()
			defer calls.Unlock()
			delete(calls.byTest, name)
		})
	}
	return childRole{Test: name, Call: calls.byTest[name]}
}

// command is the command line of a child with that role. The child runs the same test with the same flags.
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

// matches reports whether a child with this role was started for that call of Run.
func (p childRole) matches(call childRole) bool { return p.Test == call.Test && p.Call == call.Call }

// serve does a child's work and ends the process.
func (p childRole) serve() {
	var err error
	if p.Worker {
		err = client.ServeWorker(os.Stdin, stdout)
	} else {
		err = suite.ServeTrials(os.Stdin, stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
