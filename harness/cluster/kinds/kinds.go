package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
)

// All are the kinds of clusters that this program has, the default first. The virtual
// kind is in every program, the local kind in those that have processes (local.go), and
// docker's, which brings a client of an engine, where it is imported.
var All = []cluster.Kind{virtual.Kind}

// Register adds a kind, when the program begins.
func Register(k cluster.Kind) { All = append(slices.Clip(All), k) }

// The names of the kinds that not every program has.
const (
	Local  = "local"
	docker = "docker"
)

// Names lists the names of all kinds, also of those that this program does not have:
// scenarios speak of them.
func Names() []string {
	var names []string
	for _, k := range All {
		names = append(names, k.Name)
	}
	for _, name := range []string{Local, docker} {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Find gives the kind of that name.
func Find(name string) (cluster.Kind, error) {
	i := slices.IndexFunc(All, func(k cluster.Kind) bool { return k.Name == name })
	switch {
	case i >= 0:
		return All[i], nil
	case name == Local:
		return cluster.Kind{},
			errors.New("this program does not have the local cluster: it was built for a browser, which has no processes")
	case name == docker:
		return cluster.Kind{},
			fmt.Errorf("this program does not have the docker cluster: it imports no example.org/lockproof/harness/cluster/docker")
	}
	return cluster.Kind{}, fmt.Errorf("no cluster named %q: there are %s", name, strings.Join(Names(), ", "))
}

// RealTime says whether the clusters of that kind are in real time.
func RealTime(name string) bool {
	k, err := Find(name)
	return err == nil && k.RealTime()
}
