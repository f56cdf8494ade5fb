package kinds

import (
	"fmt"
	"slices"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/local"
	"lockproof/harness/cluster/virtual"
)

// All are the kinds of clusters that this program has, the default first. What is in
// All but for docker's is in every program: docker's brings a client of an engine, and
// puts itself here where it is imported.
var All = []cluster.Kind{virtual.Kind, local.Kind}

// Register adds a kind, when the program begins.
func Register(k cluster.Kind) { All = append(slices.Clip(All), k) }

// docker is the name of a kind that not every program has.
const docker = "docker"

// Names lists the names of all kinds, also of those that this program does not have:
// scenarios speak of them.
func Names() []string {
	var names []string
	for _, k := range All {
		names = append(names, k.Name)
	}
	if !slices.Contains(names, docker) {
		names = append(names, docker)
	}
	return names
}

// Find gives the kind of that name.
func Find(name string) (cluster.Kind, error) {
	i := slices.IndexFunc(All, func(k cluster.Kind) bool { return k.Name == name })
	switch {
	case i >= 0:
		return All[i], nil
	case name == docker:
		return cluster.Kind{}, fmt.Errorf("this program does not have the docker cluster: it imports no lockproof/harness/cluster/docker")
	}
	return cluster.Kind{}, fmt.Errorf("no cluster named %q: there are %s", name, strings.Join(Names(), ", "))
}

// RealTime says whether the clusters of that kind are in real time.
func RealTime(name string) bool {
	k, err := Find(name)
	return err == nil && k.RealTime()
}
