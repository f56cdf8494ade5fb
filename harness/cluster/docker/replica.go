package docker

import (
	"context"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/cluster/server"
)

// replicate makes the replicas follow their masters, each over its own link, and
// returns once all have a copy.
func (c *Cluster) replicate(ctx context.Context) error {
	replicas := map[string][]string{} // addresses, by master
	for name, master := range c.cfg.Replicas {
		n := c.nodes[name]
		n.master = c.address[proxy.Path{Client: name, Server: master}]
		if err := n.do(ctx, "replicate to", func(ctx context.Context) error {
			if announced := c.address[proxy.Path{Client: cluster.SentinelsName, Server: name}]; announced != "" {
				if _, err := server.Announce(ctx, n.outside, announced); err != nil {
					return err
				}
			}
			return server.Follow(ctx, n.outside, n.master)
		}); err != nil {
			return err
		}
		replicas[master] = append(replicas[master], n.outside)
	}
	for master, addrs := range replicas {
		n := c.nodes[master]
		err := n.do(ctx, "replicate", func(ctx context.Context) error {
			return server.AwaitReplicas(ctx, n.outside, addrs)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
