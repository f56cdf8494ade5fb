package locktest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever tests a lock gets no client of a Docker engine into their build.
func TestItBringsNoDockerClient(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "example.org/lockproof/harness/locktest").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "example.org/lockproof/harness/cluster/local")
	for _, name := range packages {
		require.NotContains(t, name, "docker")
		require.NotContains(t, name, "opentelemetry")
	}
}
