package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/cluster/shim"
)

// parallel is how many trials run side by side on two processors: most of their
// time is waiting, but a start of one must not stall another.
const parallel = 3

// Kind is the kind of clusters of processes on this machine.
var Kind = cluster.Kind{
	Name: cluster.Local,
	Needs: []cluster.Need{
		{Name: "redis-server", Find: findRedis},
		{Name: "C compiler", Find: findCompiler, Optional: "clock and disk faults"},
	},
	Can:      can,
	Server:   "the path of a redis-server or valkey-server",
	Serves:   Available,
	Knows:    knows,
	Open:     open,
	Parallel: func() int { return parallel },
	Clean:    func(context.Context) ([]string, error) { return process.Clean() },
	Sweep: func(context.Context) error {
		_, err := process.Clean()
		return err
	},
}

func open(_ context.Context, choice cluster.Choice, _ io.Writer) (cluster.Maker, error) {
	if err := Available(choice.Server); err != nil {
		return nil, err
	}
	return cluster.Independent(func(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
		c, err := New(ctx, cfg, choice)
		if err != nil {
			return nil, err
		}
		return c, nil
	}), nil
}

// knows says whether the server that is chosen knows a command that Redis 7.0 does not.
func knows(choice cluster.Choice, command string) error {
	p, err := findServer(choice.Server)
	if err != nil || p.knows(command) {
		return err
	}
	return unsupported(command, p.String()+" does not know it", "use --server with the path of a later one")
}

func findRedis(context.Context) (string, error) {
	p, err := findServer("")
	return p.String(), err
}

func findCompiler(ctx context.Context) (string, error) {
	cc, err := shim.Compiler()
	if err != nil {
		return "", err
	}
	return version(ctx, cc)
}

// version gives the first line of what a program says of its version.
func version(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}

// can says whether a local cluster can do a fault: nil, or a *cluster.Unsupported.
func can(fault string) error {
	switch {
	case slices.Contains(realcluster.Faults, fault):
		return nil
	case fault == "disconnect":
		return &cluster.Unsupported{Cluster: cluster.Local, Fault: fault, Needs: "nodes in a network of their own",
			How: "use --on docker, or cut the links to the node"}
	case !slices.Contains(realcluster.ShimFaults, fault):
		return unsupported(fault, "it knows no such fault", "it can do "+strings.Join(slices.Concat(realcluster.Faults,
			realcluster.ShimFaults), ", "))
	}
	_, err := shim.Build("")
	if missing, ok := errors.AsType[*shim.Missing](err); ok {
		return unsupported(fault, missing.Why, missing.How)
	} else if err != nil {
		return unsupported(fault, err.Error(), "")
	}
	return nil
}

func unsupported(fault, why, how string) error {
	return &cluster.Unsupported{Cluster: cluster.Local, Fault: fault, Why: why, How: how}
}
