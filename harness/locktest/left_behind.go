package locktest

import (
	"fmt"
	"reflect"
	"strings"

	"lockproof/harness/cluster/virtual/bubble"
)

// leftBehind names the goroutines of a bubble that are the lock's own: those in whose stacks nothing is the harness's.
func leftBehind(allowed []string) error {
	var places []string
	for _, g := range bubble.Goroutines() { // in real time, nobody minds
		if g.Place != "" && !isOwn(g.Stack) && !g.StartedIn(allowed) {
			places = append(places, g.Place)
		}
	}
	switch len(places) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the lock leaves 1 goroutine (%s)"+afterEnd, places[0])
	}
	return fmt.Errorf("the lock leaves %d goroutines (%s)"+afterEnd, len(places), strings.Join(places, ", "))
}

// isOwn reports whether a function of the harness is on a stack; those of this package's tests are a lock's.
func isOwn(stack string) bool {
	for line := range strings.Lines(stack) {
		if strings.HasPrefix(line, ownPackages) && !strings.HasPrefix(line, ownPackages+"locktest_test") {
			return true
		}
	}
	return false
}

const afterEnd = " after Release, or when its client has ended: stop it there, by env.Context(), or give the lock a Close()"

// ownPackages begins the names of the harness's functions.
var ownPackages = strings.TrimSuffix(reflect.TypeFor[adapter]().PkgPath(), "locktest")
