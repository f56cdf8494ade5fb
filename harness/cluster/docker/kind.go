package docker

import (
	"context"
	"io"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
)

// parallel is the number of concurrent trials on two processors: these trials wait even more than local ones.
const parallel = 4

// containerRestart is twice the extra time of a container's restart on a busy machine, compared with a process's, which
// takes milliseconds.
const containerRestart = 2500 * time.Millisecond

// Kind describes clusters of containers.
var Kind = cluster.Kind{
	Name: cluster.Docker,
	Needs: []cluster.Need{
		{Name: "Docker engine and Compose", Find: Find},
		{Name: "base image", Find: findBase},
		{Name: "servers", Find: listServers},
	},
	Node:    (*node)(nil),
	Fits:    fits,
	Knows:   knows,
	Server:  strings.Join(serverNames(), ", ") + " (default: the first)",
	Image:   "one that has redis-server or valkey-server",
	Servers: serverNames(),
	Open: func(ctx context.Context, choice cluster.Choice, notices io.Writer) (cluster.Maker, error) {
		p, err := Open(ctx, choice, notices)
		if err != nil {
			return nil, err
		}
		return p, nil
	},
	Parallel: func() int { return parallel },
	Restart:  containerRestart,
	Clean:    Clean,
	Sweep:    sweep,
}

func init() { cluster.Register(Kind) }

func listServers(context.Context) (string, error) {
	return strings.Join(serverNames(), ", ") + " (--server; the first by default), or an image of your own (--image)", nil
}
