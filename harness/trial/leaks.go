package trial

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster/virtual/bubble"
)

// isHarness reports whether the harness started a goroutine.
func isHarness(g bubble.Goroutine) bool {
	return strings.HasPrefix(g.Owner, harnessPackages) && !strings.Contains(g.Owner, "_test.")
}

// harnessPackages is the prefix of the harness's function names.
var harnessPackages = strings.TrimSuffix(reflect.TypeFor[Plan]().PkgPath(), "trial")

// awaitGoroutines waits, in virtual time, for an external lock's goroutines that end by themselves.
func (p *Plan) awaitGoroutines() {
	if p.Lock.External && !p.Cluster.RealTime() {
		time.Sleep(2 * p.TTL)
	}
}

// allowLeaks removes the goroutines that the lock may leave behind from a trial's error, and returns their names. If an
// operation of a client hung, any goroutine may remain: the history has the reason.
func (p *Plan) allowLeaks(err error, hung bool) (left []string, rest error) {
	leaks, only := err.(*bubble.LeftError) // not errors.As: no other error must be lost
	if !only || len(leaks.Goroutines) == 0 {
		return nil, err
	}
	if hung {
		return nil, nil
	}
	var places []string
	for _, g := range leaks.Goroutines {
		if isHarness(g) {
			return nil, err // a call of the lock that does not return
		}
		if !g.BelongsTo(p.Lock.LeavesBehind) {
			places = append(places, g.Place)
		}
		left = append(left, g.String())
	}
	if len(places) > 0 {
		goroutines := "1 goroutine"
		if len(places) > 1 {
			goroutines = fmt.Sprintf("%d goroutines", len(places))
		}
		slices.Sort(places)
		return nil,
			fmt.Errorf("the lock leaves %s (%s) after Release, or when its client has ended: stop it there, by env.Context(), "+
				"or give the lock a Close()", goroutines, strings.Join(slices.Compact(places), ", "))
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}
