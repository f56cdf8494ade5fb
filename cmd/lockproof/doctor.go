package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker"
	"lockproof/harness/cluster/local"
	"lockproof/harness/suite"
)

// patience is how long a program may take to tell its version.
const patience = 5 * time.Second

// need is one thing that a cluster needs.
type need struct {
	name string
	// find says what was found, or an error that says how to get it.
	find func(context.Context) (string, error)
	// optional: without it the cluster works but for the faults named.
	optional string
}

// wants are what each cluster needs.
var wants = map[string][]need{
	"virtual": {{name: "Go", find: func(context.Context) (string, error) { return runtime.Version() + ", built in", nil }}},
	"local": {
		{name: "redis-server", find: findRedis},
		{name: "C compiler", find: findCompiler, optional: "clock and disk faults"},
	},
	"docker": {
		{name: "Docker engine and Compose", find: findDocker},
		{name: "base image", find: findBase},
		{name: "servers", find: listServers},
	},
}

// kinds are the clusters in the order in which doctor speaks of them.
var kinds = []string{"virtual", "local", "docker"}

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [cluster ...]",
		Short: "Say what each cluster needs and whether it is there",
		Long: `Says what each cluster needs and whether it is there. The exit code is 3 if a
cluster that is named lacks what it cannot do without; with no name, if any does.`,
		Example: "  lockproof doctor\n  lockproof doctor local",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = kinds
			}
			for _, name := range args {
				if !slices.Contains(kinds, name) {
					return usage("there is no cluster %q: %s", name, suggest(name, kinds))
				}
			}
			return p.doctor(cmd.Context(), args)
		},
	}
}

func (p *program) doctor(ctx context.Context, clusters []string) error {
	lacking := false
	for _, name := range clusters {
		if !slices.Contains(suite.Clusters, name) {
			if err := p.say(name + ": not in this version\n"); err != nil {
				return err
			}
			continue
		}
		verdict, lines := examine(ctx, wants[name])
		lacking = lacking || verdict == notReady
		if err := p.say(fmt.Sprintf("%s: %s\n  %s\n", name, verdict, strings.Join(lines, "\n  "))); err != nil {
			return err
		}
	}
	if lacking {
		return &exit{code: exitFailed}
	}
	return nil
}

const notReady = "not ready"

// examine says whether a cluster can be used, and why.
func examine(ctx context.Context, needs []need) (verdict string, lines []string) {
	verdict = "ready"
	for _, n := range needs {
		found, err := n.find(ctx)
		switch {
		case err == nil:
			lines = append(lines, fmt.Sprintf("%s: %s", n.name, found))
		case n.optional == "":
			verdict = notReady
			lines = append(lines, fmt.Sprintf("%s: missing: %v", n.name, err))
		default:
			if verdict != notReady {
				verdict = "ready, but for " + n.optional
			}
			lines = append(lines, fmt.Sprintf("%s, for %s: missing: %v", n.name, n.optional, err))
		}
	}
	return verdict, lines
}

func findRedis(ctx context.Context) (string, error) {
	if err := local.Available(""); err != nil {
		return "", plainly(err)
	}
	return firstLine(ctx, "redis-server", "--version")
}

func findCompiler(ctx context.Context) (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		if line, err := firstLine(ctx, name, "--version"); err == nil {
			return line, nil
		}
	}
	return "", errors.New("neither cc, gcc nor clang is there; install one (Debian and Ubuntu: apt-get install gcc)")
}

func findDocker(ctx context.Context) (string, error) {
	found, err := docker.Find(ctx)
	return found, plainly(err)
}

func findBase(ctx context.Context) (string, error) {
	found, err := docker.FindBase(ctx)
	return found, plainly(err)
}

// listServers says which servers there are to choose from.
func listServers(context.Context) (string, error) {
	return strings.Join(docker.ServerNames(), ", ") + " (--server; the first by default), or an image of your own (--image)", nil
}

// plainly says what is missing and how to get it, without naming the cluster
// again.
func plainly(err error) error {
	var lack *cluster.Unsupported
	if errors.As(err, &lack) {
		return fmt.Errorf("%s; %s", lack.Why, lack.How)
	}
	return err
}

// firstLine runs a program and gives the first line of its output.
func firstLine(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}
