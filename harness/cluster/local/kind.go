package local

import (
	"context"
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

// parallel is the number of concurrent trials on two processors: they mostly wait, but the start of one must not stall
// another.
const parallel = 3

// Kind describes clusters of processes on this machine.
var Kind = cluster.Kind{
	Name: cluster.Local,
	Needs: []cluster.Need{
		{Name: "redis-server", Find: findRedis},
		{Name: "C compiler", Find: findCompiler, Optional: "clock and disk faults"},
	},
	Node:     (*realcluster.Node)(nil),
	Lacks:    lacks,
	Server:   "the path of a redis-server or valkey-server",
	Serves:   Available,
	Knows:    knows,
	Open:     open,
	Parallel: func() int { return parallel },
	Clean:    func(context.Context) ([]string, error) { return process.Clean() },
}

func init() { cluster.Register(Kind) }

func open(_ context.Context, choice cluster.Choice, _ io.Writer) (cluster.Maker, error) {
	if err := Available(choice.Server); err != nil {
		return nil, err
	}
	return cluster.Independent(func(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
		return cluster.Made(New(ctx, cfg, choice))
	}), nil
}

// knows returns an error if the chosen server lacks a command.
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

// version returns the first line of a program's --version.
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

// shimmed are the abilities that need the preload shim.
var shimmed = []*cluster.Ability{cluster.AbilityPowerLoss, cluster.AbilityClock, cluster.AbilityDisk}

// lacks returns an error if an ability needs the preload shim and there is none.
func lacks(a *cluster.Ability) error {
	if !slices.Contains(shimmed, a) {
		return nil
	}
	_, err := shim.Build("")
	if err == nil {
		return nil
	}
	return &cluster.Unsupported{Cluster: cluster.Local, Needs: a, Why: err.Error()} // with the remedy
}

func unsupported(fault, why, how string) error {
	return &cluster.Unsupported{Cluster: cluster.Local, Fault: fault, Why: why, How: how}
}
