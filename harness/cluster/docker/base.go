package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/docker/docker/api/types/image"

	"example.org/lockproof/harness/cluster/process"
)

// debian is the Dockerfile's base image for a release of Debian.
func debian(release string) string { return "debian:" + release + "-slim" }

// ownBase is the base image made from Debian's packages, if no registry is reachable.
func ownBase(release string) string { return "lockproof-base:" + release }

// pullTimeout bounds the pull of an image; a base has 30 MB.
const pullTimeout = 3 * time.Minute

// base returns a base image of a release of Debian: local, pulled, or made from Debian's packages.
func (e *engine) base(ctx context.Context, release, owner string, say io.Writer) (string, error) {
	debian, own := debian(release), ownBase(release)
	if name, err := e.hasBase(ctx, release); name != "" || err != nil {
		return name, err
	}
	fmt.Fprintf(say, "pulling %s\n", debian)
	pulled := e.pull(ctx, debian)
	if pulled == nil {
		return debian, nil
	}
	fmt.Fprintf(say, "it cannot be pulled (%v)\nmaking %s from Debian's packages: this takes a minute or two\n", pulled,
		own)
	if err := e.bootstrap(ctx, release, owner); err != nil {
		return "", noBase(debian, pulled, err)
	}
	return own, nil
}

// hasBase returns the engine's local base image, or "".
func (e *engine) hasBase(ctx context.Context, release string) (string, error) {
	for _, name := range []string{debian(release), ownBase(release)} {
		if found, err := e.has(ctx, name); found || err != nil {
			return name, err
		}
	}
	return "", nil
}

// findBase describes the source of the base image without fetching it; the error says what is missing.
func findBase(ctx context.Context) (string, error) {
	e, err := connect(ctx)
	if err != nil {
		return "", err
	}
	defer e.Close()
	return e.findBase(ctx)
}

func (e *engine) findBase(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name, err := e.hasBase(ctx, Servers[0].Release)
	if err != nil {
		return "", unreachable(e.DaemonHost(), err)
	}
	if name != "" {
		return name + " is there", nil
	}
	debian, own := debian(Servers[0].Release), ownBase(Servers[0].Release)
	_, refused := e.DistributionInspect(ctx, debian, "")
	if refused == nil {
		return debian + " comes from its registry with the first run", nil
	}
	if err := canBootstrap(); err != nil {
		return "", noBase(debian, refused, err)
	}
	return own + " is made from Debian's packages with the first run, if they can be reached: no registry gives " +
		debian, nil
}

// noBase says why there is no base image, and how to get one.
func noBase(name string, pulled, made error) error {
	return missing(fmt.Sprintf("the image %s is not there, cannot be pulled (%v), and cannot be made (%v)", name, pulled,
		made),
		"reach a registry, load it (docker load), or run once as root with debootstrap installed (Debian: apt-get "+
			"install debootstrap)")
}

// canBootstrap returns an error if debootstrap cannot run.
func canBootstrap() error {
	if os.Geteuid() != 0 {
		return errors.New("debootstrap wants root")
	}
	_, err := exec.LookPath("debootstrap")
	return err
}

func (e *engine) pull(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	body, err := e.ImagePull(ctx, name, image.PullOptions{})
	if err != nil {
		return err
	}
	return follow(body)
}

// bootstrap makes ownBase with debootstrap, as root.
func (e *engine) bootstrap(ctx context.Context, release, owner string) (err error) {
	if err := canBootstrap(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lockproof-base-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if out, err := exec.CommandContext(ctx, "debootstrap", "--variant=minbase", release,
		dir).CombinedOutput(); err != nil {
		return fmt.Errorf("debootstrap: %w; the end of its output: %s", err, process.LastWords(out))
	}
	return e.importFolder(ctx, dir, ownBase(release), owner)
}

// importFolder makes an image of a folder. The program tar keeps the owners and modes of all kinds of files by itself.
func (e *engine) importFolder(ctx context.Context, dir, name, owner string) error {
	tar := exec.CommandContext(ctx, "tar", "-C", dir, "--one-file-system", "-c", ".")
	content, err := tar.StdoutPipe()
	if err != nil {
		return err
	}
	if err := tar.Start(); err != nil {
		return err
	}
	body, err := e.ImageImport(ctx, image.ImportSource{Source: content, SourceName: "-"}, name,
		image.ImportOptions{Changes: []string{fmt.Sprintf("LABEL %s=base %s=%q", label, ownerLabel, owner)}})
	if err == nil {
		err = follow(body)
	}
	content.Close() // ends a tar with unread output
	if waited := tar.Wait(); err == nil {
		err = waited
	}
	return err
}
