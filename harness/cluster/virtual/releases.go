package virtual

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
)

// release is a server's release whose commands the nodes know.
type release struct {
	name string // as --server has it
	says string // of its version in INFO
	// later are the commands that Redis 7.0 has not. compares: its SET takes IFEQ.
	later    []string
	compares bool
}

// releases are those that can be chosen, the default first. replication_test.go holds
// it against that release of Redis; compare_test.go the others' commands against theirs,
// where there is one.
var releases = []release{
	{name: "redis-7.0", says: "redis_version:7.0.15"},
	{
		name: "redis-8.4", says: "redis_version:8.4.0",
		later: []string{"DELEX", waitAOF}, compares: true,
	},
	{
		name: "valkey-9.0", says: "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.0",
		later: []string{"DELIFEQ", waitAOF}, compares: true,
	},
}

// ServerNames lists what --server may be.
func ServerNames() []string {
	names := make([]string, len(releases))
	for i, r := range releases {
		names[i] = r.name
	}
	return names
}

// findRelease gives the release of a name, the default for none.
func findRelease(name string) (release, error) {
	for _, r := range releases {
		if name == "" || name == r.name {
			return r, nil
		}
	}
	return release{},
		fmt.Errorf("virtual cluster: there is no server %q: there are %s", name, strings.Join(ServerNames(), ", "))
}

// releaseFor gives a release that knows these commands, the default if it does.
func releaseFor(commands []string) release {
	for _, r := range releases {
		if !slices.ContainsFunc(commands, r.lacks) {
			return r
		}
	}
	return releases[0]
}

// knows says whether the nodes know a command, of the release that is chosen, or of one that a
// scenario needs where none is.
func knows(choice cluster.Choice, command string) error {
	r, err := findRelease(choice.Server)
	if err != nil || choice.Server == "" || !r.lacks(command) {
		return err
	}
	return &cluster.Unsupported{Cluster: cluster.Virtual, Fault: command, Why: r.name + " does not know it",
		How: "leave --server out, or use --server " + releaseFor([]string{command}).name}
}

// server is what the nodes are, with the version in go.mod.
func (r release) server() string {
	if r.name == releases[0].name {
		return "miniredis 2.40.0"
	}
	return "miniredis 2.40.0 as " + r.name
}

// lacks says whether a command came later than the release, or to another product.
func (r release) lacks(name string) bool {
	for _, other := range releases {
		if slices.Contains(other.later, name) {
			return !slices.Contains(r.later, name)
		}
	}
	return false
}
