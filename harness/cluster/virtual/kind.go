package virtual

import (
	"context"
	"io"
	"runtime"
	"strings"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/bubble"
)

// Kind is the kind of clusters in memory and in virtual time.
var Kind = cluster.Kind{
	Name: cluster.Virtual,
	Needs: []cluster.Need{{
		Name: "Go", Find: func(context.Context) (string, error) { return runtime.Version() + ", built in", nil },
	}},
	Node:    (*Node)(nil),
	Server:  strings.Join(ServerNames(), ", ") + ": whose commands they know (default: the first)",
	Servers: ServerNames(),
	Knows:   knows,
	Open: func(_ context.Context, choice cluster.Choice, _ io.Writer) (cluster.Maker, error) {
		r, err := findRelease(choice.Server)
		if err != nil {
			return nil, err
		}
		return cluster.Independent(func(_ context.Context, cfg cluster.Config) (cluster.Cluster, error) {
			suitable := r
			if choice.Server == "" {
				suitable = releaseFor(cfg.Commands)
			}
			return cluster.Made(newCluster(cfg, suitable))
		}), nil
	},
	Bubble:   bubble.Run,
	Parallel: func() int { return runtime.GOMAXPROCS(0) },
}

func init() { cluster.Register(Kind) }
