package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPictureShowsTheOverlapAndTheFault(t *testing.T) {
	s := tale()
	s.grant("c1", 0, 10, 900)
	s.instant(20, "kill", "n3")
	s.grant("c2", 30, 40, 900)
	h := s.history(t, 1000)
	verdict, err := h.Verdict()
	require.NoError(t, err)
	overlaps := verdict.Of(MutualExclusion).Violations
	require.Len(t, overlaps, 1)

	var page strings.Builder
	require.NoError(t, h.Picture(overlaps[0], &page))
	require.Contains(t, page.String(), "c2 takes the lock")
	require.Contains(t, page.String(), "held by c1, lease 1")
	require.Contains(t, page.String(), "n3 was killed at 0.020 s")

	require.ErrorContains(t, h.Picture(Violation{Key: "k1"}, &page), "has no leases")
}

// porcupine's page puts states into its document as HTML.
func TestPictureEscapesNames(t *testing.T) {
	require.Equal(t, "held by &lt;img src=x&gt;, lease 1", drawnMutexModel.DescribeState(owner{"<img src=x>", 1}))
}
