package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/docker/docker/api/types/network"

	"lockproof/harness/cluster"
)

var _ cluster.Networked = (*node)(nil)

// Disconnect is docker network disconnect: the container runs on, and nobody
// reaches it, the harness neither, for its published port goes with its address.
// It returns once the engine says that it is in no network.
func (n *node) Disconnect(ctx context.Context) error {
	return n.do(ctx, "disconnect", func(ctx context.Context) error {
		names, err := n.networks(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := n.engine.NetworkDisconnect(ctx, name, n.id, false); err != nil {
				return err
			}
		}
		left, err := n.networks(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("the engine says that it did, and it is in %v still", left)
		}
		if err != nil {
			return err
		}
		n.left = names
		return n.proxy.Move(ctx, n.service, "")
	})
}

// Connect is docker network connect. The engine gives the container an address
// and a published port as at a start, which need not be those of before. It
// returns once the server answers there.
func (n *node) Connect(ctx context.Context) error {
	return n.do(ctx, "connect", func(ctx context.Context) error {
		for _, name := range n.left {
			// Its name in the network, by which others of the project find it.
			end := &network.EndpointSettings{Aliases: []string{n.service}}
			if err := n.engine.NetworkConnect(ctx, name, n.id, end); err != nil {
				return err
			}
		}
		n.left = nil
		if err := n.awaitAnswer(ctx); err != nil {
			return err
		}
		return n.proxy.Move(ctx, n.service, n.inside)
	})
}

// networks names the networks that the container is in.
func (n *node) networks(ctx context.Context) ([]string, error) {
	seen, err := n.state(ctx)
	if err != nil || seen.NetworkSettings == nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(seen.NetworkSettings.Networks)), nil
}

// Connected says in how many networks the node is, and where it is reached there.
func (n *node) Connected(ctx context.Context) (networks int, address string, err error) {
	names, err := n.networks(ctx)
	return len(names), n.inside, err
}
