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

// Names of kinds that scenarios speak of, also in a program that does not have each.
const (
	Virtual = "virtual"
	Local   = "local"
	Docker  = "docker"
)

// Kinds are those that this program has, the default first.
var Kinds []Kind

// Register adds a kind, when the program begins: the package of each does so. The virtual kind is in every program, the
// local kind in those that have processes, and docker's, which brings a client of an engine, where it is imported.
func Register(k Kind) {
	Kinds = append(slices.Clip(Kinds), k)
	names := []string{Virtual, Local, Docker}
	slices.SortStableFunc(Kinds, func(a, b Kind) int {
		return slices.Index(names, a.Name) - slices.Index(names, b.Name)
	})
}

// Find gives the kind of that name.
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

// RealTime says whether the clusters of the kind of that name are in real time.
func RealTime(name string) bool {
	k, err := Find(name)
	return err == nil && k.RealTime()
}

// Names lists the names of all kinds, also of those that this program does not have.
func Names() []string {
	names := []string{Virtual, Local, Docker}
	for _, k := range Kinds {
		if !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Kind declares one kind of cluster: what it needs and can do, and how a run gets
// one. The package of each kind declares its own; package kinds lists them all.
// A function that is nil has nothing to say or to do.
type Kind struct {
	Name string
	// Needs are what it needs of the machine.
	Needs []Need
	// Node is of the type of its nodes: their methods are its abilities. Lacks says of one of
	// them what this machine lacks for it: nil, or an *Unsupported.
	Node  Node
	Lacks func(*Ability) error
	// Fits says whether it can have these servers, and so many Sentinels: nil, or
	// an *Unsupported.
	Fits func(servers []string, sentinels int) error
	// Server and Image say, for --help, what these flags may name on it; "": the
	// flag is not for it.
	Server, Image string
	// Servers lists the names that --server may have; empty: any.
	Servers []string
	// Serves says what is wrong with a server that it cannot have.
	Serves func(server string) error
	// Knows says whether the servers that are chosen know a command that Redis 7.0 does
	// not: nil, or an *Unsupported. A function that is nil says that they do.
	Knows func(choice Choice, command string) error
	// Open gets ready what its clusters share; notices takes what is to be said
	// meanwhile, where that takes long. The error says what the machine lacks.
	Open func(ctx context.Context, choice Choice, notices io.Writer) (Maker, error)
	// Bubble runs all of a trial in virtual time; nil: its clusters are in real
	// time.
	Bubble func(trial func()) error
	// Parallel is how many of its trials run side by side if nobody says.
	Parallel func() int
	// Restart is how much longer than a process a server may take to end and to
	// come back, on a busy machine.
	Restart time.Duration
	// Clean removes what harnesses have left that died, and says what it did, one
	// line each. Sweep does as much of it as a run can do in passing; nil: Clean does.
	Clean func(context.Context) (done []string, err error)
	Sweep func(context.Context) error
}

// RealTime says whether its clusters are in real time.
func (k Kind) RealTime() bool { return k.Bubble == nil }

// Need is one thing that a kind of cluster needs of the machine.
type Need struct {
	Name string
	// Find says what was found, or an error that says how to get it.
	Find func(context.Context) (string, error)
	// Optional: without it the cluster works but for the faults named.
	Optional string
}

// Choice is which servers a run is to have; the zero value leaves it to the kind.
type Choice struct {
	Server string `json:"server,omitempty"` // one of Kind.Servers, or what Kind.Server says
	Image  string `json:"image,omitempty"`  // an image that has a server, instead
	// Worker is the command line of a client's process, in real time; empty: this program with
	// the argument "worker".
	Worker []string `json:"-"`
	// External: that program is not ours, and what it says is checked.
	External bool `json:"-"`
}

// Maker makes the clusters of one suite. Its methods may be called from any
// goroutine, but for Close, which comes last.
type Maker interface {
	// New brings a cluster up.
	New(ctx context.Context, cfg Config) (Cluster, error)
	// Explain gives an error of a trial, with a *Lost in it if what the clusters
	// share is lost.
	Explain(error) error
	Close() error
}

// Made is what a function has made that gives a cluster of its own type: no cluster where it failed.
func Made[C Cluster](c C, err error) (Cluster, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Independent makes a Maker of clusters that share nothing.
type Independent func(ctx context.Context, cfg Config) (Cluster, error)

// New brings a cluster up.
func (s Independent) New(ctx context.Context, cfg Config) (Cluster, error) { return s(ctx, cfg) }

// Explain gives the error back.
func (s Independent) Explain(err error) error { return err }

// Close does nothing.
func (s Independent) Close() error { return nil }

// WithoutClusterName says what is missing and how to get it, without naming the cluster, for
// who has named it already. Any other error it gives back.
func WithoutClusterName(err error) error {
	if lack, ok := errors.AsType[*Unsupported](err); ok {
		return fmt.Errorf("%s; %s", lack.Why, lack.How)
	}
	return err
}
