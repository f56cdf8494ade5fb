package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"example.org/lockproof/harness/cluster"
)

// oldestAPI is the oldest supported version of the engine's API, of Docker Engine 20.10.
const oldestAPI = "1.41"

// requestTimeout bounds the search for an engine and Compose.
const requestTimeout = 10 * time.Second

// engine is a usable Docker engine with its Compose.
type engine struct {
	*client.Client
	compose []string // the command: docker compose, or docker-compose
	id      string   // the engine's ID, independent of its address
	cgroup  string   // the parent of the containers' control groups; "": the engine's choice
}

// Find describes the engine and Compose of docker clusters here; the error is a *cluster.Unsupported.
func Find(ctx context.Context) (string, error) {
	e, err := connect(ctx)
	if err != nil {
		return "", err
	}
	defer e.Close()
	version, err := e.ServerVersion(ctx)
	if err != nil {
		return "", unreachable(e.DaemonHost(), err)
	}
	return fmt.Sprintf("Docker Engine %s (API %s), %s", version.Version, e.ClientVersion(), strings.Join(e.compose, " ")),
		nil
}

// connect finds the engine, by DOCKER_HOST and the like, and Compose.
func connect(ctx context.Context) (*engine, error) {
	if runtime.GOOS != "linux" {
		return nil, missing("it needs Linux: elsewhere containers run in a machine of their own, with a clock of its own",
			"run it there (on Windows: in WSL 2), or with --on virtual")
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	e, err := reach(ctx)
	if err != nil {
		return nil, err
	}
	if e.compose, err = findCompose(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	info, err := e.Info(ctx)
	if err != nil {
		return nil, errors.Join(unreachable(e.DaemonHost(), err), e.Close())
	}
	e.id, e.cgroup = info.ID, cgroupParent(info)
	return e, nil
}

// cgroupParent is the parent of the containers' control groups. With cgroupfs, an engine puts them into one group with
// the weight of one process: a busy client would hold up all servers. At the root, each container weighs as much as a
// process. systemd shares fairly by itself.
func cgroupParent(info system.Info) string {
	if info.CgroupDriver == "cgroupfs" {
		return "/"
	}
	return ""
}

func reach(ctx context.Context) (*engine, error) {
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, missing(err.Error(), "correct DOCKER_HOST and the other DOCKER_ variables, or unset them")
	}
	ping, err := c.Ping(ctx)
	if err != nil {
		return nil, errors.Join(unreachable(c.DaemonHost(), err), c.Close())
	}
	if ping.OSType != "" && ping.OSType != "linux" {
		return nil, errors.Join(missing("the engine runs "+ping.OSType+" containers", "switch it to Linux containers"),
			c.Close())
	}
	if versions.LessThan(ping.APIVersion, oldestAPI) {
		return nil, errors.Join(missing(fmt.Sprintf("the engine is too old: its API is %s", ping.APIVersion),
			"install Docker Engine 20.10 or later, whose API is "+oldestAPI), c.Close())
	}
	return &engine{Client: c}, nil
}

// lost replaces an error by *cluster.Lost if the engine does not answer: that is the cause then.
func (e *engine) lost(err error) error {
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, pingErr := e.Ping(ctx)
	if pingErr == nil {
		return err
	}
	return &cluster.Lost{
		Cluster: cluster.Docker, Why: fmt.Sprintf("the engine at %s does not answer any more (%v)", e.DaemonHost(), pingErr),
		How: "start it again (systemctl start docker), and run `lockproof clean`, which removes what this run has left on it",
	}
}

// unreachable explains why there is no engine at host.
func unreachable(host string, err error) error {
	switch {
	case errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "permission denied"):
		return missing("this user may not use the engine at "+host,
			"add the user to the group docker (usermod -aG docker USER) and log in again, or run as root")
	case errors.Is(err, context.DeadlineExceeded):
		return missing(fmt.Sprintf("the engine at %s has not answered for %s", host, requestTimeout),
			"restart it (systemctl restart docker)")
	}
	return missing(fmt.Sprintf("no engine answers at %s (%v)", host, err),
		"install Docker (Debian: apt-get install docker.io docker-compose) and start it (systemctl start docker)")
}

// composes caches findCompose's results by PATH: the Python program takes a second to print its version.
var composes sync.Map

// findCompose finds the command of Compose: the plugin, or the older program.
func findCompose(ctx context.Context) ([]string, error) {
	path := os.Getenv("PATH")
	if found, ok := composes.Load(path); ok {
		return slices.Clone(found.([]string)), nil
	}
	for _, command := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.CommandContext(ctx, command[0], append(command[1:], "version")...).Run() == nil {
			composes.Store(path, command)
			return slices.Clone(command), nil
		}
		if ctx.Err() != nil {
			return nil, missing(fmt.Sprintf("`%s version` has not answered for %s, engine and all", strings.Join(command, " "),
				requestTimeout), "wait until the machine has less to do, and try again")
		}
	}
	return nil, missing("neither `docker compose` nor `docker-compose` works",
		"install Compose (Debian: apt-get install docker-compose; elsewhere the package docker-compose-plugin)")
}

func missing(why, how string) error { return cluster.Unusable(cluster.Docker, why, how) }
