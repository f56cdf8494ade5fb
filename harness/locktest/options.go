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

// Option is an option of Run.
type Option func(*settings)

type settings struct {
	name            string
	scenarios       []string
	properties      []string
	trials          int
	seed            uint64
	ttl             time.Duration
	on              string
	server          string
	dialsItself     bool
	leavesBehind    []string // packages
	belief          Belief
	progressTimeout time.Duration
	explore         time.Duration
	strict          bool
	nodes           int             // 0: as many as the lock uses
	mistake         error           // in an option
	expected        map[string]bool // scenarios known to be violated: whether they ran
}

// Named sets the lock's name in reports; the default is the test's name.
func Named(name string) Option { return func(s *settings) { s.name = name } }

// Scenarios chooses scenarios by name, by glob ("aof-*"), or by the path of a file. The default is the whole
// catalogue.
func Scenarios(names ...string) Option {
	return func(s *settings) { s.scenarios = append(s.scenarios, names...) }
}

// Properties chooses the properties to check: mutual-exclusion, protected-data, fencing, deadlock-freedom,
// fault-tolerance, cancellation. The default is all. Scenarios without an expectation for a chosen one are skipped.
func Properties(names ...string) Option {
	return func(s *settings) { s.properties = append(s.properties, names...) }
}

// Trials sets the number of trials of each scenario; the default is 1.
func Trials(n int) Option { return func(s *settings) { s.trials = n } }

// Seed sets the seed of the first trial; the default is 1. Each further trial adds 1.
func Seed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// TTL sets the lock's time to live; the default is each scenario's own.
func TTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// On chooses the cluster: virtual, the default, or local, with real redis-servers and one process for each client.
// The docker cluster needs the lockproof command, because its containers run that program.
func On(cluster string) Option { return func(s *settings) { s.on = cluster } }

// OnServer chooses the lock's servers: in virtual time the release whose commands they know, such as "redis-8.4" or
// "valkey-9.0" for a lock that sends DELEX or DELIFEQ; on the local cluster a program, as lockproof run --server does.
func OnServer(name string) Option { return func(s *settings) { s.server = name } }

// RealTime declares that the lock works in real time only, because it needs a socket, for example, or waits for an
// external event. It runs on the local cluster.
func RealTime() Option { return On(suite.Local) }

// DialsItself declares that the lock connects by net.Dial and not by Env.Dial. With lockproof test it runs in virtual
// time all the same; with go test it runs on the local cluster.
func DialsItself() Option { return func(s *settings) { s.dialsItself = true } }

// Overlaid reports whether lockproof test built this program, so that locks that dial by themselves run in virtual
// time.
func Overlaid() bool { return overlay.BuiltIn() }

// LeavesBehind allows goroutines that outlive the lock's client if a function of these packages, or of packages
// below, started them or they wait in one: LeavesBehind("github.com/go-redis/redis/v8"). It is for libraries without
// a Close. Goroutines of the test's own package must end.
func LeavesBehind(packages ...string) Option {
	return func(s *settings) { s.leavesBehind = append(s.leavesBehind, packages...) }
}

// Believes declares how long a client relies on a lease.
func Believes(b Belief) Option { return func(s *settings) { s.belief = b } }

// Nodes sets the number of servers that the lock uses and counts majorities of, for example 1, 3 or 5. The default is
// the number that it requests from Env. Each scenario runs in its form for that number, if it has one.
func Nodes(n int) Option { return func(s *settings) { s.nodes = n } }

// Strict makes limits fail too: situations that no lock of the class survives.
func Strict() Option { return func(s *settings) { s.strict = true } }

// Expect accepts that a scenario breaks the lock, and fails once the lock survives it.
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

// ProgressTimeout sets the real time without progress after which a trial in virtual time fails; the default is 10 s.
func ProgressTimeout(d time.Duration) Option { return func(s *settings) { s.progressTimeout = d } }

// Explore searches random schedules of operations and faults after the scenarios, for d of real time, as lockproof
// explore does (docs/explore.md). The first schedule that breaks a property is shrunk, for at most d, fails the
// subtest "explore", and is replayed first from then on. It works in virtual time only.
func Explore(d time.Duration) Option { return func(s *settings) { s.explore = d } }

const defaultProgressTimeout = 10 * time.Second

func applyOptions(name string, options []Option) (settings, error) {
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
	return s, checkServer(s.on, s.server)
}

// checkServer refuses servers that the cluster does not have.
func checkServer(on, server string) error {
	if server == "" {
		return nil
	}
	switch kind, err := cluster.Find(on); {
	case err != nil:
		return err
	case len(kind.Servers) > 0 && !slices.Contains(kind.Servers, server):
		return fmt.Errorf("OnServer: the %s cluster has no %q: it has %s", on, server, strings.Join(kind.Servers, ", "))
	case kind.Serves != nil:
		return kind.Serves(server)
	}
	return nil
}
