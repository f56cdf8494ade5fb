package locktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/overlay"
	"example.org/lockproof/harness/suite"
)

// Option is one of Run's.
type Option func(*settings)

// settings are what options have set.
type settings struct {
	name            string
	scenarios       []string
	properties      []string
	trials          int
	seed            uint64
	ttl             time.Duration
	on              string
	dialsItself     bool
	leavesBehind    []string // packages
	belief          Belief
	progressTimeout time.Duration
	explore         time.Duration
	strict          bool
	nodes           int             // 0: as many as the lock uses
	mistake         error           // in an option
	expected        map[string]bool // scenarios that are known to be violated: whether they were run
}

// Named gives the lock a name for reports; it is the test's otherwise.
func Named(name string) Option { return func(s *settings) { s.name = name } }

// Scenarios chooses scenarios by name, by glob ("aof-*"), or by the path of a file.
// All of the catalogue's are run otherwise.
func Scenarios(names ...string) Option {
	return func(s *settings) { s.scenarios = append(s.scenarios, names...) }
}

// Properties chooses what is judged: mutual-exclusion, protected-data, fencing,
// deadlock-freedom, fault-tolerance, cancellation. All of them are otherwise. Scenarios that
// expect nothing of these are skipped.
func Properties(names ...string) Option {
	return func(s *settings) { s.properties = append(s.properties, names...) }
}

// Trials is how many of each scenario there are; 1 otherwise.
func Trials(n int) Option { return func(s *settings) { s.trials = n } }

// Seed is that of the first trial, 1 otherwise; each further one adds 1.
func Seed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// TTL is the lock's time to live; each scenario's own otherwise.
func TTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// On chooses the cluster: virtual otherwise; or local, on real redis-servers, with
// clients that are processes of their own. The docker cluster is lockproof's alone: its
// containers run that program.
func On(cluster string) Option { return func(s *settings) { s.on = cluster } }

// RealTime says that the lock works in real time only: it needs a socket, say, or
// waits for something outside. It is run on the local cluster.
func RealTime() Option { return On(suite.Local) }

// DialsItself says that the lock makes its connections by net.Dial and not by Env.Dial. With lockproof test it is in
// virtual time all the same; with go test it is run on the local cluster.
func DialsItself() Option { return func(s *settings) { s.dialsItself = true } }

// Overlaid reports whether lockproof test has built this program: locks that dial by themselves are in virtual time.
func Overlaid() bool { return overlay.BuiltIn() }

// LeavesBehind allows goroutines that are still there when the lock's client has ended, if functions of these packages,
// or of packages below, have started them, or they wait in one: LeavesBehind("github.com/go-redis/redis/v8"). It is for
// libraries without a Close.
// What the test's own package starts must end.
func LeavesBehind(packages ...string) Option {
	return func(s *settings) { s.leavesBehind = append(s.leavesBehind, packages...) }
}

// Believes declares how long a client believes in a lease.
func Believes(b Belief) Option { return func(s *settings) { s.belief = b } }

// Nodes is on how many servers the lock is, of which majorities are counted: 1, 3 or 5, say. Otherwise it is
// as many as it asks Env for. Scenarios are put to so many servers, where they have a form for them.
func Nodes(n int) Option { return func(s *settings) { s.nodes = n } }

// Strict makes what no lock of the class can do fail as well.
func Strict() Option { return func(s *settings) { s.strict = true } }

// Expect accepts that a scenario breaks the lock, and fails once it does not any more.
func Expect(scenario string, verdict Verdict) Option {
	return func(s *settings) {
		if s.expected == nil {
			s.expected = map[string]bool{}
		}
		if verdict == Violated {
			s.expected[scenario] = false
			return
		}
		s.mistake = fmt.Errorf("Expect(%q, %q): want locktest.Violated", scenario, verdict)
	}
}

// ProgressTimeout is for how long a trial in virtual time may make no progress, in
// real time, before it has failed: 10 seconds otherwise.
func ProgressTimeout(d time.Duration) Option { return func(s *settings) { s.progressTimeout = d } }

// Explore looks for so long, in real time and after the scenarios, for schedules of
// operations and faults that nobody scripted, as lockproof explore does; docs/explore.md
// says what is drawn. The first that breaks a property is made smaller, for as long again
// at most, fails the subtest "explore", and is replayed first from then on. Clusters in real
// time are left out.
func Explore(d time.Duration) Option { return func(s *settings) { s.explore = d } }

const defaultProgressTimeout = 10 * time.Second

// settle applies options, and refuses what does not exist.
func settle(name string, options []Option) (settings, error) {
	s := settings{name: name, trials: 1, seed: 1, progressTimeout: defaultProgressTimeout}
	for _, set := range options {
		set(&s)
	}
	if s.on == "" {
		s.on = suite.Virtual
		if s.dialsItself && !overlay.BuiltIn() {
			s.on, s.explore = suite.Local, 0
		}
	}
	for _, p := range s.properties {
		if !slices.Contains(checker.Names(), p) {
			return s, fmt.Errorf("Properties: there is no %q: there are %s", p, strings.Join(checker.Names(), ", "))
		}
	}
	beliefs := []Belief{"", ByLease, FromCall, FromReturn, UntilReleased}
	clusters := []string{suite.Virtual, suite.Local}
	switch {
	case s.mistake != nil:
		return s, s.mistake
	case !slices.Contains(clusters, s.on):
		return s, fmt.Errorf("On: unknown cluster %q: want one of %s", s.on, strings.Join(clusters, ", "))
	case s.dialsItself && s.on == suite.Virtual && !overlay.BuiltIn():
		return s, errors.New("DialsItself: only lockproof test brings the lock into virtual time: use it, or leave out On")
	case slices.Contains(s.leavesBehind, ""):
		return s, errors.New("LeavesBehind: a package has no name: want the path of a package or a module")
	case s.nodes < 0 || s.nodes > 9:
		return s, fmt.Errorf("Nodes must be from 1 to 9, got %d", s.nodes)
	case s.trials < 1:
		return s, fmt.Errorf("Trials must be at least 1, got %d", s.trials)
	case s.ttl < 0 || s.ttl > 0 && s.ttl < time.Millisecond:
		return s, fmt.Errorf("TTL must be at least 1ms, since Redis counts milliseconds, got %s", s.ttl)
	case s.progressTimeout <= 0:
		return s, fmt.Errorf("ProgressTimeout: %s: it must be above 0", s.progressTimeout)
	case s.explore < 0:
		return s, fmt.Errorf("Explore: %s: it must not be below 0", s.explore)
	case s.explore > 0 && cluster.RealTime(s.on):
		return s,
			fmt.Errorf("Explore: schedules are run in virtual time, and the %s cluster is in real time: leave out one of them",
				s.on)
	case !slices.Contains(beliefs, s.belief):
		return s, fmt.Errorf("Believes: there is no %q: there are %q", s.belief, beliefs[1:])
	}
	return s, nil
}
