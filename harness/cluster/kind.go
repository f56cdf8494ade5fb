package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The names of all kinds. A program may lack some of these kinds.
const (
	Virtual = "virtual"
	Local   = "local"
	Docker  = "docker"
)

// names are those that every program knows, in the order of output; other kinds follow.
var names = []string{Virtual, Local, Docker}

// Kinds are the kinds in this program, the default first.
var Kinds []Kind

// Register adds a kind; the package of each kind calls it at initialization. Every program has the virtual kind,
// programs with processes the local kind. The docker kind needs an import, as it brings a client of an engine.
func Register(k Kind) {
	Kinds = append(slices.Clip(Kinds), k)
	order := Names()
	slices.SortStableFunc(Kinds, func(a, b Kind) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
}

// Find returns the kind of that name.
func Find(name string) (Kind, error) {
	for _, k := range Kinds {
		if k.Name == name {
			return k, nil
		}
	}
	switch name {
	case Local:
		return Kind{},
			errors.New("this program does not have the local cluster: it was built for a browser, which has no processes")
	case Docker:
		return Kind{},
			errors.New("this program does not have the docker cluster: it does not import harness/cluster/docker")
	}
	return Kind{}, fmt.Errorf("no cluster named %q: there are %s", name, strings.Join(Names(), ", "))
}

// RealTime reports whether clusters of the named kind run in real time.
func RealTime(name string) bool {
	k, err := Find(name)
	return err == nil && k.RealTime()
}

// Names lists the names of all kinds, including those that this program lacks.
func Names() []string {
	all := slices.Clone(names)
	for _, k := range Kinds {
		if !slices.Contains(all, k.Name) {
			all = append(all, k.Name)
		}
	}
	return all
}

// Kind declares one kind of cluster: its requirements, its abilities, and how a run makes one. The package of each kind
// declares it. A nil function means: no objection, or no work.
type Kind struct {
	Name string
	// Needs are its requirements on the machine.
	Needs []Need
	// Node is a value of its node type, whose methods are the kind's abilities. Lacks returns nil, or an *Unsupported
	// that names what this machine lacks for an ability.
	Node  Node
	Lacks func(*Ability) error
	// Fits returns nil, or an *Unsupported if the kind cannot run these servers and this number of Sentinels.
	Fits func(servers []string, sentinels int) error
	// Server and Image describe, for --help, the values of these flags; "": the flag does not apply.
	Server, Image string
	// Servers lists the accepted values of --server; empty: any.
	Servers []string
	// Serves returns an error for an unusable server.
	Serves func(server string) error
	// Knows returns nil, or an *Unsupported if the chosen servers lack a command that Redis 7.0 also lacks. Nil: they
	// know every such command.
	Knows func(choice Choice, command string) error
	// Open prepares the resources that its clusters share; notices receives messages about slow steps. The error says
	// what the machine lacks.
	Open func(ctx context.Context, choice Choice, notices io.Writer) (Maker, error)
	// Bubble runs a whole trial in virtual time; nil: its clusters run in real time.
	Bubble func(trial func()) error
	// Parallel is the default number of concurrent trials.
	Parallel func() int
	// Restart is the extra time, compared with a process, that a server may need to stop and to start on a busy machine.
	Restart time.Duration
	// Clean removes the remains of dead harnesses, and returns one line for each step. Sweep is the part that is cheap
	// enough for every run; nil: Clean is.
	Clean func(context.Context) (done []string, err error)
	Sweep func(context.Context) error
}

// RealTime reports whether its clusters run in real time.
func (k Kind) RealTime() bool { return k.Bubble == nil }

// Need is one requirement of a kind of cluster on the machine.
type Need struct {
	Name string
	// Find describes what it found, or returns an error with the remedy.
	Find func(context.Context) (string, error)
	// Optional names the faults that are unavailable without it; "": it is required.
	Optional string
}

// Choice selects the servers of a run; the zero value is the kind's default.
type Choice struct {
	Server string `json:"server,omitempty"` // one of Kind.Servers, or as Kind.Server describes
	Image  string `json:"image,omitempty"`  // an image with a server, instead of Server
	// Worker is the command line of a client's process, in real time; empty: this program with
	// the argument "worker".
	Worker []string `json:"-"`
	// External: the worker is another project's program, and its messages are checked.
	External bool `json:"-"`
}

// Maker makes the clusters of one suite. Its methods may be called from any
// goroutine, except Close, which comes last.
type Maker interface {
	// New starts a cluster.
	New(ctx context.Context, cfg Config) (Cluster, error)
	// Explain adds a *Lost to an error of a trial if the clusters' shared resources are lost.
	Explain(error) error
	Close() error
}

// Made turns the results of a function with a cluster type of its own into a Cluster: nil after an error.
func Made[C Cluster](c C, err error) (Cluster, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Independent makes a Maker of clusters that share nothing.
type Independent func(ctx context.Context, cfg Config) (Cluster, error)

// New starts a cluster.
func (s Independent) New(ctx context.Context, cfg Config) (Cluster, error) { return s(ctx, cfg) }

// Explain returns the error unchanged.
func (s Independent) Explain(err error) error { return err }

// Close does nothing.
func (s Independent) Close() error { return nil }

// WithoutClusterName returns an *Unsupported's reason and remedy without the cluster's name, for callers that have
// named the cluster already. It returns any other error unchanged.
func WithoutClusterName(err error) error {
	if lack, ok := errors.AsType[*Unsupported](err); ok {
		return fmt.Errorf("%s; %s", lack.Why, lack.How)
	}
	return err
}
