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
	"github.com/docker/docker/api/types/volume"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/cluster/process"
)

// Clean removes the containers, networks and volumes of harnesses that died
// before they could do so themselves, and the images that no container uses, and
// says what it did, one line each. It touches nothing without our label, nothing
// of a harness that lives, and nothing of another user or host.
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

// atOnce is how soon an engine answers that is worth waiting for, where nothing
// is wanted of it but what is left to be removed.
const atOnce = 2 * time.Second

// Sweep removes what dead harnesses left on the engine, but for images. Where none
// of this user is known to have left anything, no engine is asked.
func Sweep(ctx context.Context) error {
	records, err := process.Stranded()
	if err != nil || len(records) == 0 {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, atOnce)
	defer cancel()
	e, err := reach(asked)
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = e.sweep(ctx)
	return err
}

// sweep removes the projects of dead harnesses, and then the records that say
// that there are some, and says what it did.
func (e *engine) sweep(ctx context.Context) (done []string, err error) {
	records, err := process.Stranded() // before it is looked for what they have left
	if err != nil {
		return nil, err
	}
	// What a harness that was killed had just asked for comes up after it has died.
	for range mostPasses {
		projects, err := e.stranded(ctx)
		if err != nil {
			return done, err
		}
		if len(projects) == 0 {
			return done, e.forget(ctx, records)
		}
		var errs []error
		for _, name := range projects {
			lines, err := e.removeProject(ctx, name)
			done, errs = append(done, lines...), append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return done, err
		}
	}
	return done, nil // the records stay for the next time
}

// mostPasses is how often it is looked for what is left, at most.
const mostPasses = 10

// forget removes the records of dead harnesses that have nothing left here.
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
	volumes, volumeErr := e.VolumeList(ctx, volume.ListOptions{Filters: ours})
	for _, v := range volumes.Volumes {
		note(v.Labels)
	}
	errs := []error{err, networkErr, volumeErr}
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

// removeProject removes a project's containers, then its networks and volumes,
// and says what it did.
func (e *engine) removeProject(ctx context.Context, name string) (done []string, err error) {
	belongs := filters.NewArgs(filters.Arg("label", projectLabel+"="+name), filters.Arg("label", label))
	containers, err := e.ContainerList(ctx, container.ListOptions{All: true, Filters: belongs})
	if err != nil {
		return nil, err
	}
	var removing errgroup.Group
	for _, c := range containers {
		removing.Go(func() error {
			return unlessGone(e.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
		})
	}
	if err := removing.Wait(); err != nil {
		return nil, fmt.Errorf("remove the project %s: %w", name, err)
	}
	networks, err := e.NetworkList(ctx, network.ListOptions{Filters: belongs})
	errs := []error{err}
	for _, n := range networks {
		errs = append(errs, unlessGone(e.NetworkRemove(ctx, n.ID)))
	}
	volumes, err := e.VolumeList(ctx, volume.ListOptions{Filters: belongs})
	errs = append(errs, err)
	for _, v := range volumes.Volumes {
		errs = append(errs, unlessGone(e.VolumeRemove(ctx, v.Name, false)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("remove the project %s: %w", name, err)
	}
	return []string{fmt.Sprintf("removed the compose project %s: %d containers, %d networks, %d volumes",
		name, len(containers), len(networks), len(volumes.Volumes))}, nil
}

// removeImages removes this user's images that no container and no run uses.
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
			continue // another user's, who may be about to use it
		}
		names := slices.DeleteFunc(i.RepoTags, func(tag string) bool { return tag == "<none>:<none>" })
		if len(names) == 0 && len(used) == 0 {
			names = []string{i.ID} // a stage of a build, and none is under way
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

// unlessGone is err, unless it says that there is nothing to remove any more.
func unlessGone(err error) error {
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	return err
}
