package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realtime"
)

// Clean removes the containers and networks of dead harnesses, and unused images, and returns one line for
// each. It leaves alone everything without our label, living harnesses, and other users' and hosts' things.
func Clean(ctx context.Context) (done []string, err error) {
	e, err := reach(ctx)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	done, err = e.sweep(ctx)
	images, imageErr := e.removeImages(ctx)
	return append(done, images...), errors.Join(err, imageErr)
}

// sweepTimeout bounds the wait for an engine that only a sweep needs.
const sweepTimeout = 2 * time.Second

// sweep removes the remains of dead harnesses from the engine, except images. It contacts the engine only if a record
// of this user names remains.
func sweep(ctx context.Context) error {
	records, err := process.Stranded()
	if err != nil || len(records) == 0 {
		return err
	}
	reachCtx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	e, err := reach(reachCtx)
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = e.sweep(ctx)
	return err
}

// sweep removes the projects of dead harnesses and then their records, and returns one line for each project.
func (e *engine) sweep(ctx context.Context) (done []string, err error) {
	records, err := process.Stranded() // before the search: see forget
	if err != nil {
		return nil, err
	}
	keeps := map[string]bool{} // projects of which the engine keeps a network
	// Containers that a killed harness had just requested appear after its death.
	for range maxPasses {
		projects, err := e.stranded(ctx)
		if err != nil {
			return done, err
		}
		projects = slices.DeleteFunc(projects, func(name string) bool { return keeps[name] })
		if len(projects) == 0 {
			return done, e.forget(ctx, records)
		}
		var errs []error
		for _, name := range projects {
			removed, kept, err := e.removeProject(ctx, name)
			done, errs = slices.Concat(done, removed, kept), append(errs, err)
			keeps[name] = len(kept) > 0
		}
		if err := errors.Join(errs...); err != nil {
			return done, err
		}
	}
	return done, nil // the records stay for the next sweep
}

const maxPasses = 10

// forget removes records of dead harnesses whose projects on this engine are gone. A record read after the search
// could name a project that the search missed.
func (e *engine) forget(ctx context.Context, records map[string]string) error {
	if len(records) == 0 {
		return nil
	}
	info, err := e.Info(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for record, engine := range records {
		if engine == info.ID {
			errs = append(errs, process.Forget(record))
		}
	}
	return errors.Join(errs...)
}

// stranded lists the projects of this user on this host whose harness is dead.
func (e *engine) stranded(ctx context.Context) ([]string, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	owners := map[string]string{} // the record of each project
	note := func(labels map[string]string) {
		if name := labels[projectLabel]; name != "" && labels[hostLabel] == host && labels[recordLabel] != "" {
			owners[name] = labels[recordLabel]
		}
	}
	ours := filters.NewArgs(filters.Arg("label", label))
	containers, err := e.ContainerList(ctx, container.ListOptions{All: true, Filters: ours})
	for _, c := range containers {
		note(c.Labels)
	}
	networks, networkErr := e.NetworkList(ctx, network.ListOptions{Filters: ours})
	for _, n := range networks {
		note(n.Labels)
	}
	errs := []error{err, networkErr}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		dead, err := process.Dead(owners[name])
		if dead {
			found = append(found, name)
		}
		errs = append(errs, err)
	}
	return found, errors.Join(errs...)
}

// removeProject removes a project's containers, then its networks. It returns a line about what it removed, and one for
// each network that the engine keeps.
func (e *engine) removeProject(ctx context.Context, name string) (removed, kept []string, err error) {
	belongs := filters.NewArgs(filters.Arg("label", projectLabel+"="+name), filters.Arg("label", label))
	containers, err := e.ContainerList(ctx, container.ListOptions{All: true, Filters: belongs})
	if err != nil {
		return nil, nil, err
	}
	var removing errgroup.Group
	for _, c := range containers {
		removing.Go(func() error {
			return unlessGone(e.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
		})
	}
	if err := removing.Wait(); err != nil {
		return nil, nil, fmt.Errorf("remove the project %s: %w", name, err)
	}
	networks, err := e.NetworkList(ctx, network.ListOptions{Filters: belongs})
	errs := []error{err}
	for _, n := range networks {
		keeps, err := e.removeNetwork(ctx, n.ID, len(containers) > 0)
		if keeps {
			kept = append(kept, fmt.Sprintf("the Docker engine keeps the network %s, which nobody uses: it can be removed when "+
				"the engine has been started again", n.Name))
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, kept, fmt.Errorf("remove the project %s: %w", name, err)
	}
	if gone := len(networks) - len(kept); len(containers)+gone > 0 {
		removed = []string{fmt.Sprintf("removed the compose project %s: %d containers, %d networks", name, len(containers),
			gone)}
	}
	return removed, kept, nil
}

// removeNetwork removes a network whose containers are gone, just now or long ago. The engine may notice that late, or
// keep a removed container's endpoint under its name (github.com/moby/moby/issues/33156). A busy Docker 20.10 can keep
// a network in which it lists nobody, until it is started again.
func (e *engine) removeNetwork(ctx context.Context, id string, justNow bool) (keeps bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_ = realtime.Poll(ctx, 100*time.Millisecond, func() (bool, error) {
		refusal := unlessGone(e.NetworkRemove(ctx, id))
		if refusal == nil {
			keeps, err = false, nil
			return true, nil
		}
		// What fails from here on, the next removal says.
		seen, unseen := e.NetworkInspect(ctx, id, network.InspectOptions{})
		if err != nil && ctx.Err() != nil {
			return true, nil // the engine's last answer counts
		}
		keeps, err = cerrdefs.IsPermissionDenied(refusal) && unseen == nil && len(seen.Containers) == 0, refusal
		for owner, endpoint := range seen.Containers {
			if _, gone := e.ContainerInspect(ctx, owner); cerrdefs.IsNotFound(gone) {
				_ = e.NetworkDisconnect(ctx, id, endpoint.Name, true)
			}
		}
		return keeps && !justNow, nil
	})
	if keeps {
		return true, nil
	}
	return false, err
}

// removeImages removes this user's images without a container or a run.
func (e *engine) removeImages(ctx context.Context) (done []string, err error) {
	list, err := e.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, err
	}
	used, err := process.InUse()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, i := range list {
		if owner := i.Labels[ownerLabel]; owner != "" && !process.Ours(owner) {
			continue // another user may be about to use it
		}
		names := slices.DeleteFunc(i.RepoTags, func(tag string) bool { return tag == "<none>:<none>" })
		if len(names) == 0 && len(used) == 0 {
			names = []string{i.ID} // a stage of a build, and no build is running
		}
		for _, name := range names {
			if slices.Contains(used, name) {
				continue
			}
			_, err := e.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
			switch {
			case err == nil:
				done = append(done, "removed the image "+name)
			case !cerrdefs.IsConflict(err): // a conflict: it is in use
				errs = append(errs, unlessGone(err))
			}
		}
	}
	return done, errors.Join(errs...)
}

// unlessGone drops an error about a thing that is already gone.
func unlessGone(err error) error {
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	return err
}
