package kinds

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	_ "example.org/lockproof/harness/cluster/docker"
)

// The conformance suite and the catalogue leave out what a kind has not: one that loses an ability would lose its tests.
func TestWhichKindHasWhichAbility(t *testing.T) {
	for ability, want := range map[cluster.Ability][]string{
		cluster.AbilityPowerLoss: {cluster.Virtual, cluster.Local, cluster.Docker},
		cluster.AbilityClock:     {cluster.Virtual, cluster.Local, cluster.Docker},
		cluster.AbilityServer:    {cluster.Local, cluster.Docker},
		cluster.AbilityDisk:      {cluster.Local, cluster.Docker},
		cluster.AbilityNetwork:   {cluster.Docker},
	} {
		var have []string
		for _, name := range []string{cluster.Virtual, cluster.Local, cluster.Docker} {
			kind, err := Find(name)
			require.NoError(t, err)
			if slices.Contains(kind.Has, ability) {
				have = append(have, name)
			}
		}
		require.Equal(t, want, have, ability)
	}
}

// What a kind of cluster has not is told with the kinds that have it.
func TestAnAbilityIsLookedForInOtherKinds(t *testing.T) {
	kind, err := Find(cluster.Virtual)
	require.NoError(t, err)
	require.NoError(t, kind.Can(cluster.AbilityPowerLoss))
	require.EqualError(t, kind.Can(cluster.AbilityDisk), "needs a disk that can stall, fail and be full, which the virtual "+
		"cluster does not have: local and docker do")
	require.EqualError(t, kind.Can(cluster.AbilityNetwork), "needs nodes in a network of their own, which the virtual cluster "+
		"does not have: docker does")
	require.EqualError(t, kind.Can("wings"), "needs wings, which the virtual cluster does not have")
}
