package virtual

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
)

// release is a server release whose commands the nodes know.
type release struct {
	name string // for --server
	info string // its version in INFO
	// added are the modelled commands that Redis 7.0 lacks.
	added []string
	// later: its SET has IFEQ, and its WAIT waits for the connection's own writes alone.
	later bool
}

// releases are the available releases, the default first. replication_test.go compares the default with Redis 7.0,
// compare_test.go the others' commands with their servers, if installed.
var releases = []release{
	{name: "redis-7.0", info: "redis_version:7.0.15"},
	{
		name: "redis-8.4", info: "redis_version:8.4.0",
		added: []string{"DELEX", waitAOF}, later: true,
	},
	{ // without WAITAOF: Valkey 8 and 9.1 answer it before the fsync, which is not modelled
		name: "valkey-9.0", info: "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.0",
		added: []string{"DELIFEQ"}, later: true,
	},
}

// ServerNames lists the values of --server.
func ServerNames() []string {
	names := make([]string, len(releases))
	for i, r := range releases {
		names[i] = r.name
	}
	return names
}

// findRelease returns the release of a name, the default for "".
func findRelease(name string) (release, error) {
	for _, r := range releases {
		if name == "" || name == r.name {
			return r, nil
		}
	}
	return release{},
		fmt.Errorf("virtual cluster: there is no server %q: there are %s", name, strings.Join(ServerNames(), ", "))
}

// releaseFor returns the first release that knows these commands, the default if none does.
func releaseFor(commands []string) release {
	for _, r := range releases {
		if !slices.ContainsFunc(commands, r.lacks) {
			return r
		}
	}
	return releases[0]
}

// knows returns an error if the chosen release lacks a command. Without a choice, releaseFor finds a release.
func knows(choice cluster.Choice, command string) error {
	r, err := findRelease(choice.Server)
	if err != nil || choice.Server == "" || !r.lacks(command) {
		return err
	}
	return &cluster.Unsupported{Cluster: cluster.Virtual, Fault: command, Why: "its " + r.name + " has none",
		How: "leave --server out, or use --server " + releaseFor([]string{command}).name}
}

// server names the nodes' product, with miniredis's version in go.mod.
func (r release) server() string {
	if r.name == releases[0].name {
		return "miniredis 2.40.0"
	}
	return "miniredis 2.40.0 as " + r.name
}

// lacks reports whether only other releases have a command.
func (r release) lacks(name string) bool {
	for _, other := range releases {
		if slices.Contains(other.added, name) {
			return !slices.Contains(r.added, name)
		}
	}
	return false
}
