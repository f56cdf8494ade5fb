package deploy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/validate/settings"
)

// Redis 7.4 and Valkey answer WAITAOF before the fsync of everysec. A tag that floats may be either.
func TestDoubtsWAITAOF_OnlyKnownReleasesAreBelieved(t *testing.T) {
	believed := []string{"redis:7.2", "redis:7.2.6-alpine3.20", "redis:8", "docker.io/library/redis:8.0.2-bookworm",
		"redis:10"}
	doubted := []string{"redis:7", "redis", "redis:latest", "redis:7.4.1", "redis:8.0-rc1", "redis:8@sha256:00",
		"redis:$TAG", "redis:7.0", "valkey/valkey:8", "valkey/valkey", "keydb:8", "acme/redis:8", ""}
	for _, image := range append(believed, doubted...) {
		s := &Server{Software: imageSoftware(image)}
		require.Equal(t, slices.Contains(believed, image), s.DoubtsWAITAOF() == "", "%s: %s", image, s.DoubtsWAITAOF())
	}
}

func TestLacksWAITAOF_BeforeRedis72(t *testing.T) {
	for image, lacks := range map[string]bool{"redis:6": true, "redis:7.0.15": true, "redis:7": false, "redis:7.2": false,
		"redis:8": false, "redis": false, "valkey/valkey:7.2": false} {
		require.Equal(t, lacks, imageSoftware(image).LacksWAITAOF(), image)
	}
}

func TestResolved_LinksToRun(t *testing.T) {
	for path, want := range map[string]string{"/var/lock/x": "/run/lock/x", "/var/run/x": "/run/x",
		"/var/lock": "/run/lock", "/var/run/": "/run", "/var/locks/x": "/var/locks/x", "/srv/var/run/x": "/srv/var/run/x",
		"/var/lib/var/run/x": "/var/lib/var/run/x", "/var/run/var/run": "/run/var/run", "/": "/"} {
		require.Equal(t, want, resolved(path), path)
	}
}

// A takeover is as good as the replica that it promotes, which may be any.
func TestDoubtsWAITAOF_OfATakeover_NeedsEveryReplicaKnown(t *testing.T) {
	aof := &settings.Redis{AppendOnly: true}
	known, old := &Server{Software: Software{"Redis", "8"}, Redis: aof},
		&Server{Name: "r2", Software: Software{"Redis", "7.4.1"}, Redis: aof}
	none := &Server{Name: "r3", Software: Software{"Redis", "8"}, Redis: settings.Default()}
	for _, c := range []struct {
		followers []*Server
		doubt     string
	}{
		{nil, "which servers the replicas are is not known"},
		{[]*Server{known}, ""},
		{[]*Server{known, none}, "r3: WAITAOF counts no replica without an append-only file"},
		{[]*Server{known, old}, "r2: Redis 7.4.1 answers WAITAOF before the fsync"},
	} {
		f := &Failover{Followers: c.followers}
		if c.doubt == "" {
			require.Empty(t, f.DoubtsWAITAOF())
			continue
		}
		require.Contains(t, f.DoubtsWAITAOF(), c.doubt)
	}
}
