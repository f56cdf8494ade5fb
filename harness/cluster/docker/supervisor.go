package docker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"

	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/cluster/server"
)

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
// which then ends of itself.
func (b *nodeContainer) killServer(ctx context.Context) error {
	address, err := b.Where(ctx)
	if err != nil {
		return err
	}
	defer b.forget()
	info, err := server.Who(ctx, address)
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
	return b.awaitEnd(ctx)
}

// awaitEnd returns once the container has ended since its address was asked for, whether or
// not it runs again.
func (b *nodeContainer) awaitEnd(ctx context.Context) error {
	err := realtime.Poll(ctx, 4*time.Millisecond, func() (bool, error) {
		seen, err := b.inspect(ctx)
		return err == nil && (down(seen.State) || seen.State.StartedAt != b.started), err
	})
	if err != nil {
		return fmt.Errorf("the container has not ended: %w; the end of its log: %s", err, b.Log(context.Background()))
	}
	return nil
}
