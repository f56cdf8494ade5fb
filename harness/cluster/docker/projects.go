package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/compose"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// services are the Redis servers of the compose project.
var (
	services  = []string{"n1", "n2", "n3", "n4", "n5", "r1", history.StoreName}
	sentinels = []string{"s1", "s2", "s3"}
)

// forwarder is the service through which containers reach their links. It passes connections to its ports on to
// sockets in a folder.
const (
	forwarder           = "links"
	firstPort, lastPort = 7001, 7032 // as in docker-compose.yml
)

// Compose's own labels on a project's things.
const (
	projectLabel = "com.docker.compose.project"
	serviceLabel = "com.docker.compose.service"
)

// Projects are the compose projects of one harness. Its methods are safe for concurrent use.
type Projects struct {
	choice cluster.Choice
	engine *engine
	record *process.Record
	folder string // the project's files
	image  string
	host   string
	say    io.Writer

	starting sync.RWMutex // held for reading while a project starts

	mu    sync.Mutex
	idle  []*project
	all   map[*project]bool
	named int // projects so far
}

// Open connects to the engine and prepares the image. The first time that can take minutes, with notices to say. ctx
// bounds the start.
func Open(ctx context.Context, choice cluster.Choice, say io.Writer) (*Projects, error) {
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	p := &Projects{engine: e, choice: choice, say: say, all: map[*project]bool{}}
	if err := p.prepare(ctx, choice, say); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Projects) prepare(ctx context.Context, choice cluster.Choice, say io.Writer) (err error) {
	if p.host, err = os.Hostname(); err != nil {
		return fmt.Errorf("docker cluster: %w", err)
	}
	// The run has already removed recorded remains of earlier harnesses; this removes unrecorded ones. A failure does
	// not prevent a run: `lockproof clean` reports it.
	_, _ = p.engine.sweep(ctx)

	if p.record, err = process.NewRecord(); err != nil {
		return fmt.Errorf("docker cluster: %w", err)
	}
	p.folder = p.record.Folder()
	if err := p.record.UseEngine(p.engine.id); err != nil {
		return fmt.Errorf("docker cluster: %w", err)
	}
	if err := os.CopyFS(p.folder, compose.Files); err != nil {
		return fmt.Errorf("docker cluster: %w", err)
	}
	p.image, err = p.engine.image(ctx, choice, p.record, say)
	return err
}

// Close removes every project. No cluster may be open.
func (p *Projects) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var removing errgroup.Group
	for q := range p.all {
		removing.Go(q.remove)
	}
	err := removing.Wait()
	p.idle, p.all = nil, nil
	if p.record != nil && err == nil {
		err = p.record.Remove() // after a failed removal the record stays for Clean
	}
	return errors.Join(p.engine.lost(err), p.engine.Close())
}

// New makes a cluster: see the package's New.
func (p *Projects) New(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
	return cluster.Made(New(ctx, cfg, p))
}

// Explain returns err, or a *cluster.Lost if the engine does not answer.
func (p *Projects) Explain(err error) error { return p.engine.lost(err) }

// acquire returns an idle or a new project. It waits until no other project is starting either: that would keep the
// machine busy and hold up the run.
func (p *Projects) acquire(ctx context.Context) (*project, error) {
	q := p.pick()
	if q == nil {
		q = &project{Projects: p, name: process.FolderPrefix + process.RandomName()}
		p.mu.Lock()
		p.named++
		q.folder = filepath.Join(p.folder, strconv.Itoa(p.named))
		p.all[q] = true
		p.mu.Unlock()
		p.starting.RLock()
		err := q.up(ctx)
		p.starting.RUnlock()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("docker cluster: %w", err), p.release(q, false))
		}
	}
	p.starting.Lock()
	defer p.starting.Unlock()
	return q, nil
}

// pick removes and returns the most recently used idle project, or nil.
func (p *Projects) pick() *project {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	q := p.idle[last]
	p.idle = p.idle[:last]
	return q
}

// release keeps a project for the next run, or removes an unsound one.
func (p *Projects) release(q *project, sound bool) error {
	if sound {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, q)
		return nil
	}
	if err := q.remove(); err != nil {
		return err // Close tries again
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, q)
	return nil
}

// project is one compose project.
type project struct {
	*Projects
	name       string
	folder     string // of its machines and links, mounted in the containers
	version    string
	containers map[string]*nodeContainer
	address    string // the forwarder's, without a port
}

// up starts the project, and waits until all its servers answer.
func (q *project) up(ctx context.Context) error {
	mounts := []string{mount(forwarder, q.links())}
	if err := os.MkdirAll(q.links(), 0o700); err != nil {
		return err
	}
	machines := map[string]*realcluster.Machine{}
	for _, name := range services {
		machines[name] = &realcluster.Machine{Folder: filepath.Join(q.folder, name)}
		if err := machines[name].Reset(realcluster.PasswordSettings(), true); err != nil {
			return err
		}
		mounts = append(mounts, mount(name, machines[name].Folder))
	}
	if err := q.compose(ctx, mounts, "up", "-d", "--no-build"); err != nil {
		return err
	}
	list, err := q.engine.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", projectLabel+"="+q.name)),
	})
	if err != nil {
		return err
	}
	q.containers = map[string]*nodeContainer{}
	for _, c := range list {
		name := c.Labels[serviceLabel]
		q.containers[name] = &nodeContainer{engine: q.engine, id: c.ID, machine: machines[name]}
	}
	servers := slices.Concat(services, sentinels)
	for _, name := range append(servers, forwarder) {
		if q.containers[name] == nil {
			return fmt.Errorf("project %s came up without %s", q.name, name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	if err := q.findForwarder(ctx); err != nil {
		return err
	}
	var starting errgroup.Group
	for _, name := range servers {
		starting.Go(func() error { return realcluster.AwaitAnswer(ctx, q.containers[name]) })
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	return q.verify(ctx, q.containers[services[0]])
}

// mount is the variable of docker-compose.yml for a service's folder.
func mount(service, folder string) string {
	return "LOCKPROOF_" + strings.ToUpper(service) + "=" + folder + ":"
}

// links is the folder of the forwarder's sockets.
func (q *project) links() string { return filepath.Join(q.folder, forwarder) }

// forward listens behind a port of the forwarder, and returns its address for containers.
func (q *project) forward(port int) (net.Listener, string, error) {
	if port > lastPort {
		return nil, "", fmt.Errorf("the project has no port %d: its last is %d", port, lastPort)
	}
	name := strconv.Itoa(port)
	if err := os.Remove(filepath.Join(q.links(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) { // the last run's
		return nil, "", err
	}
	folder, err := os.Open(q.links())
	if err != nil {
		return nil, "", err
	}
	defer folder.Close()
	// A socket's name has at most 107 bytes (unix(7)), and a folder's may have more.
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix",
		Name: fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), name)})
	if err != nil {
		return nil, "", err
	}
	listener.SetUnlinkOnClose(false) // by then, that name is another file's
	return listener, net.JoinHostPort(q.address, name), nil
}

// verify reads one server's version, as a sample, and checks that the preload shim is in effect, by the clock that
// containers share with this machine: a power loss cannot check that itself.
func (q *project) verify(ctx context.Context, b *nodeContainer) error {
	address, err := b.Where(ctx)
	if err != nil {
		return err
	}
	info, err := realcluster.ReadInfo(ctx, address)
	if err != nil {
		return err
	}
	q.version = info.String()
	before, err := b.machine.SetClock(time.Hour, 0)
	if err != nil {
		return err
	}
	if err := b.machine.CheckClock(ctx, address, before); err != nil {
		return missing(fmt.Sprintf("a container does not share the clock and the memory of this machine: %v", err), elsewhere)
	}
	return nil
}

const elsewhere = "use an engine on this machine, not one that is remote, rootless or in a virtual machine"

// findForwarder finds the forwarder, and checks that a connection to it arrives here: this machine reaches its
// containers in their network, and they see its files.
func (q *project) findForwarder(ctx context.Context) error {
	b := q.containers[forwarder]
	seen, err := b.inspect(ctx)
	if err != nil {
		return err
	}
	if !seen.State.Running {
		return fmt.Errorf("the forwarder ended with status %d; its last words: %s", seen.State.ExitCode, b.Log(ctx))
	}
	q.address = ipOf(seen)
	listener, address, err := q.forward(firstPort)
	if err != nil {
		return err
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			_, _ = conn.Write([]byte{1}) // the other side notices
			conn.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var last error
	if err := realtime.Poll(ctx, 5*time.Millisecond, func() (bool, error) {
		last = reaches(ctx, address)
		return last == nil, nil
	}); err != nil {
		why := "this machine does not reach its containers in their network, or they do not see its files: %v; the " +
			"forwarder's last words: %s"
		return missing(fmt.Sprintf(why, last, b.Log(context.Background())), elsewhere)
	}
	return nil
}

// reaches returns an error unless an address sends something.
func reaches(ctx context.Context, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_, err = conn.Read(make([]byte, 1))
	return err
}

func (q *project) compose(ctx context.Context, mounts []string, args ...string) error {
	command := append(append([]string{}, q.engine.compose...), "-p", q.name, "-f",
		filepath.Join(q.Projects.folder, "docker-compose.yml"))
	command = append(command, args...)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// Compose 1 waits 60 s for each answer by default; an engine that starts four projects at once may need more.
	cmd.Env = append([]string{"COMPOSE_HTTP_TIMEOUT=300"}, os.Environ()...)
	cmd.Env = append(append(cmd.Env, mounts...),
		"LOCKPROOF_IMAGE="+q.image, "LOCKPROOF_SHIM=/machine/control",
		fmt.Sprintf("LOCKPROOF_USER=%d:%d", os.Getuid(), os.Getgid()),
		"LOCKPROOF_RECORD="+q.record.File(), "LOCKPROOF_HOST="+q.host,
		"LOCKPROOF_PASSWORD="+realcluster.Password(), "LOCKPROOF_HEALTH_INTERVAL=1h", "LOCKPROOF_CGROUP="+q.engine.cgroup,
	)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// It dies with the harness: otherwise it would recreate things after Clean has removed them.
	running, err := process.Launch(command[0], cmd)
	if err != nil {
		return err
	}
	<-running.Gone()
	if err := running.Exit(); err != nil {
		return fmt.Errorf("%s %s: %w; the end of its output: %s", strings.Join(q.engine.compose, " "), args[0], err,
			process.LastWords(out.Bytes()))
	}
	return nil
}

// remove removes the project's containers and network.
func (q *project) remove() error {
	_, kept, err := q.engine.removeProject(context.Background(), q.name)
	for _, line := range kept {
		fmt.Fprintln(q.say, line)
	}
	for _, b := range q.containers {
		if b.machine != nil {
			err = errors.Join(err, b.machine.Close())
		}
	}
	return err
}
