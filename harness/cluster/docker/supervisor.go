package docker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/server"
)

var _ cluster.Supervised = (*node)(nil)

// supervise gives the container a restart policy, or takes it away: the engine
// starts it again whenever it has ended, unless the engine itself was told to end
// it.
func (b *nodeContainer) supervise(ctx context.Context, always bool) error {
	if always == b.supervised {
		return nil
	}
	policy := container.RestartPolicy{Name: container.RestartPolicyDisabled}
	if always {
		policy.Name = container.RestartPolicyAlways
	}
	if _, err := b.engine.ContainerUpdate(ctx, b.id, container.UpdateConfig{RestartPolicy: policy}); err != nil {
		return err
	}
	b.supervised = always
	return nil
}

// killServer is SIGKILL for the server alone, sent from inside the container,
// which then ends of itself. It returns once the container is seen to be down, or
// to have been started again.
func (b *nodeContainer) killServer(ctx context.Context) error {
	before, err := b.state(ctx)
	if err != nil {
		return err
	}
	info, err := server.Who(ctx, b.outside)
	if err != nil {
		return err
	}
	// By a shell's own kill: the image need not have a program for it.
	exec, err := b.engine.ContainerExecCreate(ctx, b.id,
		container.ExecOptions{Cmd: []string{"sh", "-c", "kill -9 " + strconv.Itoa(info.PID)}})
	if err != nil {
		return err
	}
	if err := b.engine.ContainerExecStart(ctx, exec.ID, container.ExecStartOptions{}); err != nil {
		return err
	}
	return b.awaitEnd(ctx, before.State)
}

// awaitEnd returns once the container has ended since a state of it, whether or
// not it runs again.
func (b *nodeContainer) awaitEnd(ctx context.Context, before *container.State) error {
	return b.awaitState(ctx, func(s *container.State) bool { return down(s) || s.StartedAt != before.StartedAt })
}

// down says whether a container does not run: one that a restart policy is about
// to start counts for the engine as running.
func down(s *container.State) bool { return !s.Running || s.Restarting }

// awaitState returns once the container is in a state.
func (b *nodeContainer) awaitState(ctx context.Context, wanted func(*container.State) bool) error {
	for {
		seen, err := b.state(ctx)
		if err != nil || wanted(seen.State) {
			return err
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("the container is %s still: %w; the end of its log: %s", seen.State.Status, ctx.Err(),
				b.logTail(context.Background()))
		}
	}
}

// AwaitRestart returns once the restart policy has brought the node back that was
// killed or shut down; false at once if it has none.
func (n *node) AwaitRestart(ctx context.Context) (bool, error) {
	if !n.supervised {
		return false, nil
	}
	err := n.do(ctx, "await the restart of", func(ctx context.Context) error {
		if err := n.awaitState(ctx, func(s *container.State) bool { return !down(s) }); err != nil {
			return err
		}
		if err := n.awaitReady(ctx); err != nil {
			return err
		}
		return n.proxy.Move(ctx, n.service, n.inside)
	})
	return err == nil, err
}
