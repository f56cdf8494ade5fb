package docker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoreSentinelsThanThereAre(t *testing.T) {
	require.ErrorContains(t, Fits([]string{"n1", "r1"}, len(sentinels)+1), "cannot do a run with 4 Sentinels: it has 3")
	require.NoError(t, Fits([]string{"n1", "r1"}, len(sentinels)))
	require.ErrorContains(t, Fits([]string{"n6"}, 0), "cannot do a run on n6: its nodes are n1 to n5")
}
