package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"

	"example.org/lockproof/harness/cluster"
)

// Server is a server from a package of Debian.
type Server struct {
	Name    string // redis-7.0
	Release string // of Debian, for the image
	Package string
	Suite   string   // of Debian, with the package, if it is not the release
	Lacks   []string // unknown commands that scenarios use
}

// Servers can be chosen by name; the first is the default. The unstable ones are Debian's newest, so their versions
// change: results contain the version.
var Servers = []Server{
	{Name: "redis-7.0", Release: "bookworm", Package: "redis-server", Lacks: []string{"WAITAOF"}},
	{Name: "redis-8.0", Release: "trixie", Package: "redis-server"},
	{Name: "valkey-8.1", Release: "trixie", Package: "valkey-server"},
	{Name: "redis-unstable", Release: "sid", Package: "redis-server", Suite: "experimental"},
	{Name: "valkey-unstable", Release: "sid", Package: "valkey-server"},
}

// serverNames lists the names of Servers.
func serverNames() []string {
	names := make([]string, len(Servers))
	for i, s := range Servers {
		names[i] = s.Name
	}
	return names
}

// find returns the chosen server. For a user's image it returns the oldest, on whose release the shim is built: its C
// library has the lowest requirements.
func find(c cluster.Choice) (Server, error) {
	for _, s := range Servers {
		if c.Server == "" || c.Server == s.Name {
			return s, nil
		}
	}
	return Server{},
		fmt.Errorf("docker cluster: there is no server %q: there are %s", c.Server, strings.Join(serverNames(), ", "))
}

// knows returns an error if the chosen server lacks a command. A user's image is not checked before it runs.
func knows(choice cluster.Choice, command string) error {
	s, err := find(choice)
	if err != nil || choice.Image != "" || !slices.Contains(s.Lacks, command) {
		return err
	}
	var others []string
	for _, other := range Servers {
		if !slices.Contains(other.Lacks, command) {
			others = append(others, other.Name)
		}
	}
	return &cluster.Unsupported{Cluster: cluster.Docker, Fault: command, Why: s.Name + " does not know it",
		How: "use --server " + strings.Join(others, ", ")}
}

// requirements of a user's image.
const requirements = "it must be an image for Linux with /bin/sh, redis-server or valkey-server 7.0 or later in " +
	"PATH, and glibc 2.34 or later" +
	" (Debian 12, Ubuntu 22.04), as the images redis:7.4 and valkey/valkey:8.1 are; those on Alpine are not"

// obtain returns the ID of a user's image, and pulls it if necessary.
func (e *engine) obtain(ctx context.Context, name string) (id string, err error) {
	seen, err := e.ImageInspect(ctx, name)
	if cerrdefs.IsNotFound(err) {
		if err := e.pull(ctx, name); err != nil {
			return "", missing(fmt.Sprintf("the image %s is not there and cannot be pulled (%v)", name, err),
				"name one that `docker images` lists, or that the engine can pull")
		}
		seen, err = e.ImageInspect(ctx, name)
	}
	if err != nil {
		return "", fmt.Errorf("docker cluster: the image %s: %w", name, err)
	}
	if seen.Os != "linux" {
		return "", missing(fmt.Sprintf("the image %s is for %s", name, seen.Os), requirements)
	}
	return seen.ID, nil
}

// unfit explains why a user's image cannot be used, by the line of compose/check.sh or by the engine's error.
func unfit(name string, err error) error {
	why, _, _ := strings.Cut(err.Error(), outputFollows)
	for line := range strings.Lines(err.Error()) {
		if _, lack, found := strings.Cut(line, "lacking: "); found {
			why = strings.TrimSpace(lack)
		}
	}
	return missing(fmt.Sprintf("the image %s cannot be used: %s", name, why), requirements)
}
