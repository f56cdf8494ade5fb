//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// relay is a socket that forwards to the real engine, until it is cut.
type relay struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	gone  bool
}

func newRelay(t *testing.T) *relay {
	r := &relay{Listener: listen(t)}
	engine, err := client.NewClientWithOpts(client.FromEnv)
	require.NoError(t, err)
	t.Cleanup(func() { engine.Close() })
	go func() {
		for {
			near, err := r.Accept()
			if err != nil {
				return
			}
			far, err := engine.Dialer()(t.Context())
			if err != nil || !r.keep(near, far) {
				near.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					if half, ok := way[0].(interface{ CloseWrite() error }); ok {
						_ = half.CloseWrite()
					}
				}()
			}
		}
	}()
	t.Cleanup(r.cut)
	return r
}

func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, conns...)
	return !r.gone
}

// cut looks to clients like the engine's death.
func (r *relay) cut() {
	r.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	for _, c := range r.conns {
		c.Close()
	}
}

// onDocker runs a docker command and returns the words of its output.
func onDocker(t *testing.T, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineAnswers)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	require.NoError(t, err, "docker %v: %s", args, out)
	return strings.Fields(string(out))
}

// engineAnswers is the longest reply time of a healthy engine.
const engineAnswers = 2 * time.Minute

// gone is the engine's reply for a missing object.
var gone = regexp.MustCompile(`(?i)no such (container|volume|image)|network .* not found`)

// ours lists the engine's objects of one home's runs. Runs of other tests create and remove
// objects meanwhile: one that is gone before its inspection does not count.
func ours(t *testing.T, v victim) []string {
	t.Helper()
	var found []string
	mine := func(kind string, ids []string, field string) {
		for _, id := range ids {
			ctx, cancel := context.WithTimeout(context.Background(), engineAnswers)
			defer cancel()
			labels, err := exec.CommandContext(ctx, "docker", "inspect", "--type", kind, "--format", "{{json "+field+"}}",
				id).CombinedOutput()
			if err != nil && gone.Match(labels) {
				continue
			}
			if assert.NoError(t, err, "docker inspect %s %s: %s", kind, id, labels) && strings.Contains(string(labels), v.home) {
				found = append(found, kind+" "+id)
			}
		}
	}
	mine("container", onDocker(t, "ps", "-aq", "--filter", "label=lockproof"), ".Config.Labels")
	mine("network", onDocker(t, "network", "ls", "-q", "--filter", "label=lockproof"), ".Labels")
	mine("volume", onDocker(t, "volume", "ls", "-q", "--filter", "label=lockproof"), ".Labels")
	mine("image", onDocker(t, "images", "-q", "--filter", "label=lockproof"), ".Config.Labels")
	return found
}
