package kinds

import (
	"fmt"
	"slices"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker"
	"lockproof/harness/cluster/local"
	"lockproof/harness/cluster/virtual"
)

// All are the kinds of clusters, the default first.
var All = []cluster.Kind{virtual.Kind, local.Kind, docker.Kind}

// Names lists the names of all kinds.
func Names() []string {
	names := make([]string, len(All))
	for i, k := range All {
		names[i] = k.Name
	}
	return names
}

// Find gives the kind of that name.
func Find(name string) (cluster.Kind, error) {
	i := slices.IndexFunc(All, func(k cluster.Kind) bool { return k.Name == name })
	if i < 0 {
		return cluster.Kind{}, fmt.Errorf("no cluster named %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return All[i], nil
}

// RealTime says whether the clusters of that kind are in real time.
func RealTime(name string) bool {
	k, err := Find(name)
	return err == nil && k.RealTime()
}
