package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	_ "example.org/lockproof/harness/cluster/docker"
	_ "example.org/lockproof/harness/cluster/local"
	_ "example.org/lockproof/harness/cluster/virtual"
)

// The order does not depend on which package registers first. A kind in a folder of its own needs no entry in a list.
func TestRegister_DefaultComesFirst_UnlistedKindsLast(t *testing.T) {
	before := cluster.Kinds
	defer func() { cluster.Kinds = before }()
	cluster.Register(cluster.Kind{Name: "toy"})
	var names []string
	for _, k := range cluster.Kinds {
		names = append(names, k.Name)
	}
	require.Equal(t, []string{cluster.Virtual, cluster.Local, cluster.Docker, "toy"}, names)
}

func TestKindCan_AbilityMissing_NamesKindsThatHaveIt(t *testing.T) {
	kind, err := cluster.Find(cluster.Virtual)
	require.NoError(t, err)
	require.NoError(t, kind.Can(cluster.AbilityPowerLoss))
	require.EqualError(t, kind.Can(cluster.AbilityDisk), "needs a disk that can stall, fail and be full, which the "+
		"virtual "+
		"cluster does not have: local and docker do")
	flying := cluster.NewAbility[interface {
		cluster.Node
		Fly()
	}]("wings")
	require.EqualError(t, kind.Can(flying), "needs wings, which the virtual cluster does not have")
}
