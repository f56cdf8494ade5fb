package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
)

// containerTimeout bounds every operation on a container.
const containerTimeout = realcluster.Timeout

// Ports in a container: the server's, and the bus of a Redis Cluster's member.
const (
	redisPort = 6379
	busPort   = 16379
)

// nodeContainer is one container of a project. It lasts as long as the project; its address changes with each start.
type nodeContainer struct {
	engine  *engine
	id      string
	machine *realcluster.Machine // mounted; nil for the forwarder and Sentinels

	mu      sync.Mutex
	address string // "": unknown
}

var _ realcluster.Host = (*nodeContainer)(nil)

func (b *nodeContainer) inspect(ctx context.Context) (container.InspectResponse, error) {
	seen, err := b.engine.ContainerInspect(ctx, b.id)
	if err == nil && seen.State == nil {
		err = errors.New("the engine reports no state for it")
	}
	return seen, err
}

func (b *nodeContainer) State(ctx context.Context) (realcluster.State, error) {
	seen, err := b.inspect(ctx)
	if err != nil {
		return realcluster.State{}, err
	}
	return realcluster.State{Down: !seen.State.Running, Paused: seen.State.Paused,
		Exit: fmt.Sprintf("status %d", seen.State.ExitCode)}, nil
}

func (b *nodeContainer) Run(ctx context.Context) error {
	b.forget()
	return b.engine.ContainerStart(ctx, b.id, container.StartOptions{})
}

// forget forgets the container's address: the engine chooses another at each start.
func (b *nodeContainer) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.address = ""
}

// Where reads the container's address from the engine, unless it is known.
func (b *nodeContainer) Where(ctx context.Context) (address string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.address != "" {
		return b.address, nil
	}
	seen, err := b.inspect(ctx)
	if err != nil {
		return "", err
	}
	if ip := ipOf(seen); ip != "" {
		b.address = net.JoinHostPort(ip, strconv.Itoa(redisPort))
	}
	return b.address, nil
}

// ipOf is a container's address in the project's network; "" without a network.
func ipOf(seen container.InspectResponse) string {
	if seen.NetworkSettings != nil {
		for _, network := range seen.NetworkSettings.Networks {
			if network.IPAddress != "" {
				return network.IPAddress
			}
		}
	}
	return ""
}

func (b *nodeContainer) Kill(ctx context.Context) error {
	defer b.forget()
	if err := b.engine.ContainerKill(ctx, b.id, "SIGKILL"); err != nil {
		return err
	}
	code, err := b.awaitStatus(ctx)
	if err == nil && code != 128+9 {
		err = fmt.Errorf("its server ended with status %d before it could be killed: %s", code, b.Log(ctx))
	}
	return err
}

func (b *nodeContainer) AwaitExit(ctx context.Context) (how string, err error) {
	defer b.forget()
	code, err := b.awaitStatus(ctx)
	if code != 0 {
		how = fmt.Sprintf("status %d", code)
	}
	return how, err
}

// awaitStatus waits until the container is down, and returns its status.
func (b *nodeContainer) awaitStatus(ctx context.Context) (code int, err error) {
	ended, failed := b.engine.ContainerWait(ctx, b.id, container.WaitConditionNotRunning)
	select {
	case exit := <-ended:
		return int(exit.StatusCode), nil
	case err := <-failed:
		return 0, fmt.Errorf("the container has not ended: %w", err)
	}
}

// Pause is docker pause: the kernel's freezer stops every process of the container.
func (b *nodeContainer) Pause(ctx context.Context) error {
	return b.freeze(ctx, true, b.engine.ContainerPause)
}

func (b *nodeContainer) Resume(ctx context.Context) error {
	return b.freeze(ctx, false, b.engine.ContainerUnpause)
}

func (b *nodeContainer) freeze(ctx context.Context, want bool, do func(context.Context, string) error) error {
	seen, err := b.State(ctx)
	if err != nil || seen.Paused == want {
		return err // a second pause changes nothing
	}
	if err := do(ctx, b.id); err != nil {
		return err
	}
	if seen, err = b.State(ctx); err == nil && seen.Paused != want {
		err = errors.New("the engine reports success, but the state has not changed")
	}
	return err
}

// Shimmed is always so: the project has been verified.
func (b *nodeContainer) Shimmed(*cluster.Ability) error { return nil }

func (b *nodeContainer) Log(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	log, err := b.engine.ContainerLogs(ctx, b.id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "20"})
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	var text bytes.Buffer
	if _, err := stdcopy.StdCopy(&text, &text, log); err != nil {
		return err.Error()
	}
	return process.LastWords(text.Bytes())
}
