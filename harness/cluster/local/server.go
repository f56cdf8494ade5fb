package local

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
)

// oldest is the oldest major version that works: 7 brought SET with both NX and
// GET, which the reference lock uses.
const oldest = 7

// program is a redis-server that can be run.
type program struct {
	file    string // absolute, or as exec finds it
	product string // redis, valkey
	version string // 7.0.15
}

func (p program) String() string { return p.product + " " + p.version }

// Available says whether a local cluster can run here: nil, or a
// *cluster.Unsupported that says what is missing and how to get it.
// server is as in Choice.Server.
func Available(server string) error {
	_, err := findServer(server)
	return err
}

// found remembers the programs that have been asked for their version, by file:
// a suite starts hundreds of clusters.
var found sync.Map

// findServer finds the server's program and checks its version.
func findServer(name string) (program, error) {
	if runtime.GOOS != "linux" {
		return program{}, cluster.Unusable(cluster.Local, "it needs Linux",
			"run it there (on Windows: in WSL 2), or with --on virtual")
	}
	if name == "" {
		name = "redis-server"
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return program{}, missing(fmt.Sprintf("%s was not found (%v)", name, err))
	}
	if p, ok := found.Load(file); ok {
		return p.(program), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, file, "--version").CombinedOutput()
	if err != nil {
		return program{}, missing(fmt.Sprintf("`%s --version` failed: %v", file, err))
	}
	p, err := parseVersion(string(out))
	if err != nil {
		return program{}, missing(fmt.Sprintf("%s: %v", file, err))
	}
	p.file = file
	found.Store(file, p)
	return p, nil
}

// versionLine is how `redis-server --version` begins, and its forks' too.
var versionLine = regexp.MustCompile(`^(\w+) server v=((\d+)\.\d+\S*)`)

// parseVersion reads the output of `redis-server --version`.
func parseVersion(out string) (program, error) {
	m := versionLine.FindStringSubmatch(out)
	if m == nil {
		line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		return program{}, fmt.Errorf("%q is not the version line of a Redis server", line)
	}
	if major, err := strconv.Atoi(m[3]); err != nil || major < oldest {
		return program{}, fmt.Errorf("version %s is too old: %d.0 or later is needed", m[2], oldest)
	}
	return program{product: strings.ToLower(m[1]), version: m[2]}, nil
}

// since is the release that brought a command, whose number Valkey has kept.
var since = map[string][2]int{"WAITAOF": {7, 2}}

// knows says whether the program knows a command that Redis 7.0 does not.
func (p program) knows(command string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(p.version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	first := since[command]
	return major > first[0] || major == first[0] && minor >= first[1]
}

func missing(why string) error {
	return cluster.Unusable(cluster.Local, why, fmt.Sprintf("install Redis %d.0 or later (Debian and Ubuntu: apt-get "+
		"install redis-server) and have redis-server in PATH", oldest))
}
