package docker

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
)

// engineWith is an engine with local images, and a registry with others.
func engineWith(t *testing.T, images, registry string) *engine {
	return engineOf(t, func(w http.ResponseWriter, r *http.Request) {
		for folder, has := range map[string]string{"/images/": images, "/distribution/": registry} {
			_, name, asked := strings.Cut(r.URL.Path, folder)
			name = strings.TrimSuffix(name, "/json")
			if asked && has != "" && strings.HasPrefix(name, has) {
				w.Write([]byte("{}"))
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"message":"nobody has it"}`))
	})
}

// engineOf is an engine that answers as it is told.
func engineOf(t *testing.T, answer http.HandlerFunc) *engine {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()),
		client.WithVersion(oldestAPI))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return &engine{Client: c}
}

func TestFindBase_NamesTheSourceOfTheImage(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no debootstrap
	for _, tt := range []struct{ images, registry, want string }{
		{"debian", "", "debian:bookworm-slim is there"},
		{"lockproof-base", "debian", "lockproof-base:bookworm is there"},
		{"", "debian", "debian:bookworm-slim comes from its registry with the first run"},
	} {
		found, err := engineWith(t, tt.images, tt.registry).findBase(t.Context())
		require.NoError(t, err)
		require.Equal(t, tt.want, found)
	}
	_, err := engineWith(t, "", "").findBase(t.Context())
	require.ErrorContains(t, err, "debian:bookworm-slim is not there, cannot be pulled")
	require.ErrorContains(t, err, "nobody has it")
	require.ErrorContains(t, err, "debootstrap")
}

// A starting project would hold up a run in another.
func TestAcquire_ProjectStarting_WaitsForIt(t *testing.T) {
	earlier, latest := &project{}, &project{}
	p := &Projects{idle: []*project{earlier, latest}}
	p.starting.RLock()
	taken := make(chan *project)
	go func() {
		q, err := p.acquire(t.Context())
		require.NoError(t, err)
		taken <- q
	}()
	select {
	case <-taken:
		require.Fail(t, "it is taken")
	case <-time.After(50 * time.Millisecond):
	}
	p.starting.RUnlock()
	require.Same(t, latest, <-taken)
	require.Equal(t, []*project{earlier}, p.idle)
}

// The engine is one that refuses to remove a network while an endpoint is in it, and lists a removed container's
// endpoint under a key of its own, or not at all. A living container's is its user's.
func TestRemoveNetwork_EndpointOfARemovedContainer_IsDisconnected(t *testing.T) {
	endpoints := map[string]network.EndpointResource{"ep-1": {Name: "gone-n1"}, "ep-2": {Name: "gone-n2"}}
	living, removed, unlisted := "", false, false
	engine := engineOf(t, func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/v"+oldestAPI)
		switch {
		case path == "/networks/net" && r.Method == http.MethodGet:
			require.NoError(t, json.NewEncoder(w).Encode(network.Inspect{Containers: endpoints}))
		case path == "/networks/net" && (len(endpoints) > 0 || unlisted):
			w.WriteHeader(http.StatusForbidden)
			w.Write([]byte(`{"message":"network net has active endpoints"}`))
		case path == "/networks/net":
			removed = true
		case path == "/networks/net/disconnect":
			var asked network.DisconnectOptions
			require.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
			maps.DeleteFunc(endpoints, func(_ string, e network.EndpointResource) bool {
				return asked.Force && e.Name == asked.Container
			})
		case path == "/containers/"+living+"/json":
			w.Write([]byte("{}"))
		default:
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"message":"nobody has it"}`))
		}
	})
	keeps, err := engine.removeNetwork(t.Context(), "net", true)
	require.NoError(t, err)
	require.True(t, removed)
	require.False(t, keeps)

	unlisted = true
	keeps, err = engine.removeNetwork(t.Context(), "net", false)
	require.NoError(t, err)
	require.True(t, keeps, "nobody can remove it")
	soon, stop := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer stop()
	started := time.Now()
	keeps, err = engine.removeNetwork(soon, "net", true)
	require.NoError(t, err)
	require.True(t, keeps)
	require.GreaterOrEqual(t, time.Since(started), 200*time.Millisecond, "the engine may still notice")

	living = "abc"
	endpoints[living] = network.EndpointResource{Name: "debugger"}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	_, err = engine.removeNetwork(ctx, "net", true)
	require.ErrorContains(t, err, "has active endpoints")
	require.Contains(t, endpoints, living)
}

func TestFits_TooManySentinelsOrUnknownNode_Fails(t *testing.T) {
	require.ErrorContains(t, fits([]string{"n1", "r1"}, len(sentinels)+1), "cannot do a run with 4 Sentinels: it has 3")
	require.NoError(t, fits([]string{"n1", "r1"}, len(sentinels)))
	require.ErrorContains(t, fits([]string{"n6"}, 0), "cannot do a run on n6: its nodes are n1 to n5")
}

func TestOpen_ImageOfTheUser_WorksOrNamesTheLack(t *testing.T) {
	projects := open(t)
	const empty = "lockproof-test-empty:latest"
	out, err := exec.Command("sh", "-c", "tar -c -T /dev/null | docker import - "+empty).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() {
		out, err := exec.Command("docker", "rmi", empty).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	base, err := projects.engine.base(t.Context(), Servers[0].Release, "", io.Discard)
	require.NoError(t, err)
	for image, want := range map[string]string{
		"localhost:1/none": "the image localhost:1/none is not there and cannot be pulled",
		empty:              "exec: \"/bin/sh\": stat /bin/sh: no such file or directory",
		base: "the image " + base + " cannot be used: it has neither redis-server nor valkey-server in PATH; " +
			"it must be",
	} {
		_, err := Open(t.Context(), cluster.Choice{Image: image}, io.Discard)
		var lack *cluster.Unsupported
		require.ErrorAs(t, err, &lack, image)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}

	own, err := Open(t.Context(), cluster.Choice{Image: projects.image}, io.Discard)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	require.NotEqual(t, projects.image, own.image)
	c, err := New(t.Context(), clustertest.Config(1, nil), own)
	require.NoError(t, err)
	require.Regexp(t, `^redis \d+\.\d+\.\d+$`, c.Server())
	require.NoError(t, c.Close())
}

func TestKnows_WaitAOF_DependsOnTheServer(t *testing.T) {
	require.ErrorContains(t, knows(cluster.Choice{}, "WAITAOF"), "redis-7.0 does not know it; use --server redis-8.0")
	for _, choice := range []cluster.Choice{{Server: "redis-8.0"}, {Server: "valkey-8.1"}, {Image: "mine"}} {
		require.NoError(t, knows(choice, "WAITAOF"))
	}
	require.ErrorContains(t, knows(cluster.Choice{Server: "redis-6"}, "WAITAOF"), "there is no server")
}
