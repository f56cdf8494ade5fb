package docker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docker/docker/client"
	"github.com/stretchr/testify/require"
)

// engineWith is an engine that has these images, and a registry that has those.
func engineWith(t *testing.T, images, registry string) *engine {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
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
	}))
	t.Cleanup(server.Close)
	c, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion(oldestAPI))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return &engine{Client: c}
}

// An engine is of no use without an image to build on.
func TestWhereTheBaseComesFrom(t *testing.T) {
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
