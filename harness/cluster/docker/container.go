package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/docker/go-connections/nat"

	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/cluster/server"
)

// containerTimeout bounds every wait for a container to do what it was told. An engine
// that is busy with others can take seconds.
const containerTimeout = 30 * time.Second

// pollEvery is how often a server is asked while it is waited for, and for how
// long at most; the engine is asked more rarely, whom that costs more than its
// answer is worth.
const (
	pollEvery    = 4 * time.Millisecond
	answerWithin = 500 * time.Millisecond
	lookEvery    = 100 * time.Millisecond
)

// redisPort is where a server listens in its container.
const redisPort = 6379

// nodeContainer is one container of a project, for as long as the project lasts: what it
// is at present changes with each start.
type nodeContainer struct {
	engine  *engine
	proxy   *proxy.Client
	service string // n3
	id      string

	direct  bool   // the host reaches the containers in their network
	outside string // where the host reaches it
	inside  string // where other containers reach it
	runID   string // of its latest server
	// supervised: the engine starts the container again when it has ended.
	supervised bool
}

// state is the engine's view of the container.
func (b *nodeContainer) state(ctx context.Context) (container.InspectResponse, error) {
	seen, err := b.engine.ContainerInspect(ctx, b.id)
	if err == nil && seen.State == nil {
		err = errors.New("the engine tells no state of it")
	}
	return seen, err
}

// kill is SIGKILL. It returns once the container is seen to be down.
func (b *nodeContainer) kill(ctx context.Context) error {
	if err := b.engine.ContainerKill(ctx, b.id, "SIGKILL"); err != nil {
		return err
	}
	code, err := b.awaitExit(ctx)
	if err == nil && code != 128+9 {
		err = fmt.Errorf("its server ended with status %d before it could be killed: %s", code, b.logTail(ctx))
	}
	return err
}

// awaitExit returns once the container is down, with its status.
func (b *nodeContainer) awaitExit(ctx context.Context) (code int, err error) {
	over, failed := b.engine.ContainerWait(ctx, b.id, container.WaitConditionNotRunning)
	select {
	case how := <-over:
		return int(how.StatusCode), nil
	case err := <-failed:
		return 0, fmt.Errorf("the container has not ended: %w", err)
	}
}

// start starts the container, and returns once another server than before
// answers in it, with all its data loaded.
func (b *nodeContainer) start(ctx context.Context) error {
	if err := b.engine.ContainerStart(ctx, b.id, container.StartOptions{}); err != nil {
		return err
	}
	return b.awaitReady(ctx)
}

func (b *nodeContainer) awaitReady(ctx context.Context) error {
	if err := b.awaitAnswer(ctx); err != nil {
		return err
	}
	return b.meet(ctx)
}

// awaitAnswer returns once the server answers at the address that it has now.
func (b *nodeContainer) awaitAnswer(ctx context.Context) error {
	if err := b.locate(ctx); err != nil {
		return err
	}
	for looked := time.Now(); ; {
		if b.inside == "" || b.outside == "" { // while the engine starts it
			if err := b.locate(ctx); err != nil {
				return err
			}
		}
		if b.answers(ctx) {
			return nil
		}
		if time.Since(looked) > lookEvery {
			seen, err := b.state(ctx)
			if err != nil {
				return err
			}
			if !seen.State.Running {
				return fmt.Errorf("its server ended with status %d; its last words: %s", seen.State.ExitCode, b.logTail(ctx))
			}
			looked = time.Now()
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w; the end of its log: %s", b.outside, ctx.Err(), b.logTail(context.Background()))
		}
	}
}

// answers asks the server once, and does not wait long: nobody refuses at the
// address of a container that has ended, and a dial there takes seconds to fail.
func (b *nodeContainer) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	// A server that loads its data answers PING with an error, so readiness
	// includes that.
	reply, err := server.Query(ctx, b.outside, "PING")
	return err == nil && reply == "+PONG"
}

// meet makes sure that the server is another than before.
func (b *nodeContainer) meet(ctx context.Context) error {
	info, err := server.Who(ctx, b.outside)
	if err != nil {
		return err
	}
	if info.RunID == b.runID {
		return fmt.Errorf("the run id %s is that of the server before it", info.RunID)
	}
	b.runID = info.RunID
	return nil
}

// checkClock sees that TIME is what the clock of the container's machine shows,
// which was at or after before when it was asked last.
func (b *nodeContainer) checkClock(ctx context.Context, before time.Time) error {
	shown, err := server.Time(ctx, b.outside)
	if err != nil {
		return err
	}
	after, err := b.proxy.SetClock(ctx, b.service, 0, 0)
	if err != nil {
		return err
	}
	// TIME is in whole microseconds.
	if shown.Before(before.Add(-time.Microsecond)) || shown.After(after) {
		return fmt.Errorf("TIME is %v off its clock: the server is not under the preload shim, or under a control file that is not the proxy's",
			shown.Sub(before))
	}
	return nil
}

// locate finds the container's addresses: the engine chooses them anew at each
// start. There are none while it is starting the container.
func (b *nodeContainer) locate(ctx context.Context) error {
	seen, err := b.state(ctx)
	if err != nil {
		return err
	}
	ports, err := published(seen)
	if err != nil {
		return err
	}
	b.inside, b.outside = "", ports[redisPort]
	for _, network := range seen.NetworkSettings.Networks {
		if network.IPAddress != "" {
			b.inside = net.JoinHostPort(network.IPAddress, strconv.Itoa(redisPort))
		}
	}
	if b.direct {
		b.outside = b.inside
	}
	return nil
}

// published gives the host's address for each port of a container.
func published(seen container.InspectResponse) (map[int]string, error) {
	ports := map[int]string{}
	if seen.NetworkSettings == nil {
		return nil, errors.New("the engine tells nothing of its network")
	}
	for port, bindings := range seen.NetworkSettings.Ports {
		for _, at := range bindings {
			if ip := net.ParseIP(at.HostIP); !ip.IsLoopback() {
				return nil, fmt.Errorf("port %s is published on %s, and not only on loopback", port, at.HostIP)
			}
			ports[nat.Port(port).Int()] = net.JoinHostPort(at.HostIP, at.HostPort)
		}
	}
	return ports, nil
}

// logTail is the end of the container's log, for an error.
func (b *nodeContainer) logTail(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	log, err := b.engine.ContainerLogs(ctx, b.id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "20"})
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	var text words
	if _, err := stdcopy.StdCopy(&text, &text, log); err != nil {
		return err.Error()
	}
	return lastOf(text)
}

// words collects what is written to it.
type words []byte

func (w *words) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}
