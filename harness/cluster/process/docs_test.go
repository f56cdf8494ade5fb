package process

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who writes a worker learns from the page how long and how much.
func TestTheDocumentHasTheBoundsOfAWorker(t *testing.T) {
	data, err := os.ReadFile("../../../docs/client-protocol.md")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, bound := range []string{
		fmt.Sprintf("message, within %.0f seconds", helloWithin.Seconds()),
		fmt.Sprintf("A line is at most %d KiB long", lineAtMost>>10),
		fmt.Sprintf("%d MiB is kept", stderrAtMost>>20),
		fmt.Sprintf("each command within %.0f seconds", sendWithin.Seconds()),
		fmt.Sprintf("end within %.0f seconds of `exit`", closeWithin.Seconds()),
	} {
		require.Contains(t, text, bound)
	}
}
