package local

import (
	"context"
	"fmt"
	"os"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/link"
	"lockproof/harness/cluster/server"
)

// replicate makes the replicas follow their masters, each over a link of its
// own, and returns once all have a copy. They have run as masters until then:
// only now are all addresses settled.
func (c *Cluster) replicate(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	replicas := map[string][]string{} // addresses, by master
	for name, master := range c.cfg.Replicas {
		if err := c.open(link.Config{Client: name, Node: master, Opaque: true}, c.nodes[master].addr); err != nil {
			return err
		}
		n := c.nodes[name]
		if err := n.failed("replicate to", n.follow(ctx, c.address[path{name, master}])); err != nil {
			return err
		}
		replicas[master] = append(replicas[master], n.addr)
	}
	for master, addrs := range replicas {
		n := c.nodes[master]
		if err := n.failed("replicate", server.AwaitReplicas(ctx, n.addr, addrs)); err != nil {
			return err
		}
	}
	return nil
}

// follow makes the server the replica of a master, now and whenever it is
// started again.
func (n *node) follow(ctx context.Context, master string) error {
	lines, err := server.ReplicaSettings(master)
	if err != nil {
		return err
	}
	if announced := n.c.address[path{cluster.SentinelsName, n.name}]; announced != "" {
		more, err := server.Announce(ctx, n.addr, announced)
		if err != nil {
			return err
		}
		lines += more
	}
	if err := n.addSettings(lines); err != nil {
		return err
	}
	return server.Follow(ctx, n.addr, master)
}

// addSettings adds lines to the server's redis.conf, for its next start.
func (n *node) addSettings(lines string) error {
	f, err := os.OpenFile(n.settingsFile(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(lines); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", n.settingsFile(), err)
	}
	return f.Close()
}
