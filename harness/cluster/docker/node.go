package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/network"

	"example.org/lockproof/harness/cluster/docker/proxy"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/history"
)

// node is one server of a run, which can be taken out of its network.
type node struct {
	*realcluster.Node
	box     *nodeContainer
	cluster *Cluster
	away    atomic.Bool // it was taken out of its networks
	left    []string    // which those were; the lock of Do guards it
}

// renew gives the node a new server with the run's settings, on an empty disk and
// with a right clock: nothing of the run before can be left in it. The container
// lives on, if it lives.
func (n *node) renew(ctx context.Context) error {
	return n.Do(ctx, "renew", func(ctx context.Context) error {
		machine := proxy.Machine{Server: n.Name(), Settings: n.cluster.Settings(n.Name(), busPort)}
		seen, err := n.State(ctx)
		if err != nil {
			return err
		}
		if seen.Paused {
			if err := n.box.engine.ContainerUnpause(ctx, n.box.id); err != nil {
				return err
			}
		}
		if !seen.Down && n.relieve(ctx, machine) == nil {
			return nil
		}
		// A server that does not obey, for whatever reason, goes with its
		// container.
		if seen, err = n.State(ctx); err == nil && !seen.Down {
			err = n.box.Kill(ctx)
		}
		if err != nil {
			return err
		}
		if _, err := proxy.Renew.Send(ctx, n.box.proxy, machine); err != nil {
			return err
		}
		if err := n.Run(ctx); err != nil {
			return err
		}
		return n.Ready(ctx)
	})
}

// relieveTimeout bounds the change of servers in a container that lives on.
const relieveTimeout = 5 * time.Second

// relieve has another server take the present one's place.
func (n *node) relieve(ctx context.Context, machine proxy.Machine) error {
	ctx, cancel := context.WithTimeout(ctx, relieveTimeout)
	defer cancel()
	if _, err := proxy.Retire.Send(ctx, n.box.proxy, n.Name()); err != nil {
		return err
	}
	if err := realcluster.Dismiss(ctx, n.Address()); err != nil {
		return err
	}
	machine.Retired = true
	if _, err := proxy.Renew.Send(ctx, n.box.proxy, machine); err != nil {
		return err
	}
	return n.Ready(ctx)
}

// Look finds a node that is in no network as one that is not up: nobody can tell.
func (n *node) Look(ctx context.Context) (seen history.Node, err error) {
	if n.away.Load() {
		return history.Node{}, nil
	}
	return n.Node.Look(ctx)
}

// Disconnect is docker network disconnect: the container runs on, and nobody reaches it, the
// harness neither. It returns once the engine says that it is in no network.
func (n *node) Disconnect(ctx context.Context) error {
	return n.Do(ctx, "disconnect", func(ctx context.Context) error {
		names, err := n.box.networks(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := n.box.engine.NetworkDisconnect(ctx, name, n.box.id, false); err != nil {
				return err
			}
		}
		left, err := n.box.networks(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("the engine says that it did, and it is in %v still", left)
		}
		if err != nil {
			return err
		}
		n.left = names
		n.away.Store(true)
		n.box.forget()
		return n.cluster.network.Move(ctx, n.Name(), "")
	})
}

// Connect is docker network connect. The engine gives the container an address as at a start,
// which need not be that of before. It returns once the server answers there.
func (n *node) Connect(ctx context.Context) error {
	return n.Do(ctx, "connect", func(ctx context.Context) error {
		for _, name := range n.left {
			// Its name in the network, by which others of the project find it.
			end := &network.EndpointSettings{Aliases: []string{n.Name()}}
			if err := n.box.engine.NetworkConnect(ctx, name, n.box.id, end); err != nil {
				return err
			}
		}
		n.left = nil
		if err := realcluster.AwaitAnswer(ctx, n.box); err != nil {
			return err
		}
		n.away.Store(false)
		address, err := n.Where(ctx)
		if err != nil {
			return err
		}
		return n.cluster.network.Move(ctx, n.Name(), address)
	})
}

// networks names the networks that the container is in.
func (b *nodeContainer) networks(ctx context.Context) ([]string, error) {
	seen, err := b.inspect(ctx)
	if err != nil || seen.NetworkSettings == nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(seen.NetworkSettings.Networks)), nil
}

func (n *node) Connected(ctx context.Context) (networks int, address string, err error) {
	names, err := n.box.networks(ctx)
	if err == nil && len(names) > 0 {
		address, err = n.Where(ctx)
	}
	return len(names), address, err
}
