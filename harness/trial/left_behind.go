package trial

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster/virtual/bubble"
)

// isHarness reports whether the harness has started a goroutine.
func isHarness(g bubble.Goroutine) bool {
	return strings.HasPrefix(g.Owner, harnessPackages) && !strings.Contains(g.Owner, "_test.")
}

// harnessPackages begins the names of the harness's functions.
var harnessPackages = strings.TrimSuffix(reflect.TypeFor[Plan]().PkgPath(), "trial")

// letEnd waits, in virtual time, until what a lock of somebody else has started has ended, if it ends by itself.
func (p *Plan) letEnd() {
	if p.Lock.External && !p.Settings.On.RealTime() {
		time.Sleep(2 * p.TTL)
	}
}

// allowedToStay takes from a trial's error the goroutines that the lock is known to leave behind, and names them.
func (p *Plan) allowedToStay(err error) (left []string, rest error) {
	remain, only := err.(*bubble.LeftError) // and nothing else went wrong
	if !only || len(remain.Goroutines) == 0 {
		return nil, err
	}
	var places []string
	for _, g := range remain.Goroutines {
		if isHarness(g) {
			return nil, err // a call that does not end
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
