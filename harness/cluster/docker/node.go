package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/network"

	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// node is one server of a run, which can be disconnected from its network.
type node struct {
	*realcluster.Node
	container    *nodeContainer
	cluster      *Cluster
	disconnected atomic.Bool
	left         []string // the networks that it was disconnected from; the lock of Do guards it
}

// renew gives the node a new server with the run's settings, an empty disk and a correct clock, so that nothing of the
// previous run is left. A running container stays.
func (n *node) renew(ctx context.Context) error {
	return n.Do(ctx, "renew", func(ctx context.Context) error {
		settings := n.cluster.Settings(n.Name(), busPort)
		seen, err := n.State(ctx)
		if err != nil {
			return err
		}
		if seen.Paused {
			if err := n.container.engine.ContainerUnpause(ctx, n.container.id); err != nil {
				return err
			}
		}
		if !seen.Down && n.replaceServer(ctx, settings) == nil {
			return nil
		}
		// If the server does not obey, replace its container's process.
		if seen, err = n.State(ctx); err == nil && !seen.Down {
			err = n.container.Kill(ctx)
		}
		if err != nil {
			return err
		}
		if err := n.Machine.Reset(settings, true); err != nil {
			return err
		}
		if err := n.Run(ctx); err != nil {
			return err
		}
		return n.Ready(ctx)
	})
}

// replaceTimeout bounds the change of servers in a running container.
const replaceTimeout = 5 * time.Second

// againFile is in a machine's folder while the container outlives its server: see compose/serve.sh.
const againFile = "again"

// replaceServer replaces the server in a running container. Without a control file no server starts, so none starts
// before the reset.
func (n *node) replaceServer(ctx context.Context, settings string) error {
	ctx, cancel := context.WithTimeout(ctx, replaceTimeout)
	defer cancel()
	again := filepath.Join(n.Machine.Folder, againFile)
	if err := errors.Join(os.Remove(n.Machine.ControlFile()), os.WriteFile(again, nil, 0o600)); err != nil {
		return err
	}
	if err := realcluster.Dismiss(ctx, n.Address()); err != nil {
		return err
	}
	if err := realtime.Poll(ctx, time.Millisecond, func() (bool, error) { // its end, as serve.sh sees it
		_, err := os.Stat(again)
		return errors.Is(err, fs.ErrNotExist), nil
	}); err != nil {
		return err
	}
	if err := n.Machine.Reset(settings, true); err != nil {
		return err
	}
	return n.Ready(ctx)
}

// Look reports a disconnected node as down: it cannot be observed.
func (n *node) Look(ctx context.Context) (seen history.Node, err error) {
	if n.disconnected.Load() {
		return history.Node{}, nil
	}
	return n.Node.Look(ctx)
}

// Disconnect is docker network disconnect. The container keeps running, but is unreachable, for the harness too. It
// checks that the engine reports no network.
func (n *node) Disconnect(ctx context.Context) error {
	return n.Do(ctx, "disconnect", func(ctx context.Context) error {
		names, err := n.container.networks(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := n.container.engine.NetworkDisconnect(ctx, name, n.container.id, false); err != nil {
				return err
			}
		}
		left, err := n.container.networks(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("the engine reports success, but it is still in %v", left)
		}
		if err != nil {
			return err
		}
		n.left = names
		n.disconnected.Store(true)
		n.container.forget()
		n.cluster.Move(n.Name(), "")
		return nil
	})
}

// Connect is docker network connect. The engine may give the container another address than before. It waits until the
// server answers there.
func (n *node) Connect(ctx context.Context) error {
	return n.Do(ctx, "connect", func(ctx context.Context) error {
		for _, name := range n.left {
			// Its name in the network, for the project's other containers.
			end := &network.EndpointSettings{Aliases: []string{n.Name()}}
			if err := n.container.engine.NetworkConnect(ctx, name, n.container.id, end); err != nil {
				return err
			}
		}
		n.left = nil
		if err := realcluster.AwaitAnswer(ctx, n.container); err != nil {
			return err
		}
		n.disconnected.Store(false)
		address, err := n.Where(ctx)
		if err == nil {
			n.cluster.Move(n.Name(), address)
		}
		return err
	})
}

// networks names the container's networks.
func (b *nodeContainer) networks(ctx context.Context) ([]string, error) {
	seen, err := b.inspect(ctx)
	if err != nil || seen.NetworkSettings == nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(seen.NetworkSettings.Networks)), nil
}

func (n *node) Connected(ctx context.Context) (networks int, address string, err error) {
	names, err := n.container.networks(ctx)
	if err == nil && len(names) > 0 {
		address, err = n.Where(ctx)
	}
	return len(names), address, err
}
