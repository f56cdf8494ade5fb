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

// oldest is the oldest supported major version: the reference lock uses SET with both NX and GET, new in 7.
const oldest = 7

// program is a usable redis-server.
type program struct {
	file    string // as exec finds it
	product string // redis, valkey
	version string // 7.0.15
}

func (p program) String() string { return p.product + " " + p.version }

// Available returns nil if a local cluster can run here, or a *cluster.Unsupported with the missing part and its
// source. server is as in Choice.Server.
func Available(server string) error {
	_, err := findServer(server)
	return err
}

// found caches programs and their versions by file: a suite starts hundreds of clusters.
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

// versionLine matches the start of `redis-server --version`, also of forks.
var versionLine = regexp.MustCompile(`^(\w+) server v=((\d+)\.\d+\S*)`)

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

// since is the first Redis release with a command. Valkey's numbers continue Redis's.
var since = map[string][2]int{"WAITAOF": {7, 2}}

// knows reports whether the program has a command that is newer than Redis 7.0.
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
