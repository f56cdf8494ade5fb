package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
)

// The virtual kind is in every program, the local kind in those that have processes (local.go), and docker's, which
// brings a client of an engine, where it is imported.
func init() { cluster.Register(virtual.Kind) }

// Find gives the kind of that name.
func Find(name string) (cluster.Kind, error) {
	i := slices.IndexFunc(cluster.Kinds, func(k cluster.Kind) bool { return k.Name == name })
	switch {
	case i >= 0:
		return cluster.Kinds[i], nil
	case name == cluster.Local:
		return cluster.Kind{},
			errors.New("this program does not have the local cluster: it was built for a browser, which has no processes")
	case name == cluster.Docker:
		return cluster.Kind{},
			errors.New("this program does not have the docker cluster: it does not import harness/cluster/docker")
	}
	return cluster.Kind{}, fmt.Errorf("no cluster named %q: there are %s", name, strings.Join(cluster.Names(), ", "))
}

// RealTime says whether the clusters of that kind are in real time.
func RealTime(name string) bool {
	k, err := Find(name)
	return err == nil && k.RealTime()
}
