package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/pkg/jsonmessage"

	"example.org/lockproof/compose"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
)

// Labels of our things. docker-compose.yml and the Dockerfile set the same.
const (
	label       = "lockproof"        // on everything; its value is the kind of thing
	recordLabel = "lockproof.record" // the record of the harness whose project it is
	hostLabel   = "lockproof.host"   // the host of that harness
	ownerLabel  = "lockproof.owner"  // of an image: the folder of its maker's records
)

// imageName is the repository of the image of all services. Its tag is a digest of the image's inputs.
const imageName = "lockproof"

// image returns the project's image with the chosen server, and builds it if necessary.
func (e *engine) image(ctx context.Context, choice cluster.Choice, record *process.Record, say io.Writer) (string,
	error) {
	s, err := find(choice)
	if err != nil {
		return "", err
	}
	// Recorded before they are made, so that no Clean removes them.
	if err := record.Use(ownBase(s.Release)); err != nil {
		return "", err
	}
	owner := record.Owner()
	base, err := e.base(ctx, s.Release, owner, say)
	if err != nil {
		return "", err
	}
	arguments := map[string]*string{"BASE": &base, "SERVER": &s.Package, "SUITE": &s.Suite}
	if choice.Image != "" {
		id, err := e.obtain(ctx, choice.Image)
		if err != nil {
			return "", err
		}
		arguments["IMAGE"] = &id
	}
	archive, err := pack(compose.Files)
	if err != nil {
		return "", fmt.Errorf("docker cluster: %w", err)
	}
	tag := imageName + ":" + digest(arguments, archive)
	if err := record.Use(tag); err != nil {
		return "", err
	}
	if found, err := e.has(ctx, tag); found || err != nil {
		return tag, err
	}
	fmt.Fprintf(say, "building the image %s\n", tag)
	if err := e.build(ctx, tag, owner, arguments, archive); err != nil && choice.Image != "" {
		return "", unfit(choice.Image, err)
	} else if err != nil {
		return "", unbuilt(tag, err)
	}
	return tag, nil
}

// offline matches apt's errors without a reachable mirror.
var offline = regexp.MustCompile(
	`Temporary failure resolving|Could not resolve|Could not connect to|Unable to connect to|Network is unreachable`)

// unbuilt explains a failed build. Containers may have no network even if the engine has one.
func unbuilt(tag string, err error) error {
	if offline.MatchString(err.Error()) {
		return missing(fmt.Sprintf("the image %s cannot be built: the engine's containers reach no mirror of Debian's "+
			"packages", tag),
			"give them a network with a way out, or load an image that was built elsewhere (docker save, docker load)")
	}
	return fmt.Errorf("docker cluster: cannot build the image %s: %w", tag, err)
}

// digest identifies an image by its inputs.
func digest(arguments map[string]*string, archive []byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		fmt.Fprintf(sum, "%s=%s\x00", name, *arguments[name])
	}
	sum.Write(archive)
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

func (e *engine) build(ctx context.Context, tag, owner string, arguments map[string]*string, archive []byte) error {
	arguments["OWNER"] = &owner
	res, err := e.ImageBuild(ctx, bytes.NewReader(archive), build.ImageBuildOptions{
		Tags: []string{tag}, Remove: true, ForceRemove: true,
		BuildArgs: arguments,
	})
	if err != nil {
		return err
	}
	return follow(res.Body)
}

func (e *engine) has(ctx context.Context, image string) (bool, error) {
	_, err := e.ImageInspect(ctx, image)
	if cerrdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// outputFollows separates an error of the engine from the output before it.
const outputFollows = "; the end of its output: "

// follow reads the engine's progress messages. An error includes the output before it.
func follow(body io.ReadCloser) error {
	defer body.Close()
	var output bytes.Buffer
	err := jsonmessage.DisplayJSONMessagesStream(body, &output, 0, false, nil)
	if err != nil {
		return fmt.Errorf("%w%s%s", err, outputFollows, process.LastWords(output.Bytes()))
	}
	return nil
}

// pack makes a reproducible tar archive of a folder.
func pack(folder fs.FS) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()),
			Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	return out.Bytes(), errors.Join(err, archive.Close())
}
