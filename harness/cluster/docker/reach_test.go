package docker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/docker/proxy"
)

// TestBothWaysLeadToAProject: in its network, which is the shorter way where the
// host is in it, and by the ports that are published wherever it is.
func TestBothWaysLeadToAProject(t *testing.T) {
	c := start(t, 1, nil)
	q, n1 := c.project, c.project.boxes["n1"]
	defer func(direct bool) { q.direct, n1.direct = direct, direct }(q.direct)
	for name, direct := range map[string]bool{"the way that was found": q.direct, "published": false} {
		t.Run(name, func(t *testing.T) {
			q.direct, n1.direct = direct, direct
			require.NoError(t, c.Node("n1").Kill(t.Context()))
			require.NoError(t, c.Node("n1").Start(t.Context()))
			seen, err := c.Node("n1").Look(t.Context())
			require.NoError(t, err)
			require.True(t, seen.Up)
			links := dial(t, q.at(proxy.FirstPort))
			require.NoError(t, links.Set(within(t, time.Second), "k1", "token", time.Minute).Err())
			api := proxy.NewClient(q.at(proxy.APIPort))
			defer api.Close()
			_, err = api.Clock(t.Context())
			require.NoError(t, err)
		})
	}
}
