package trial

import (
	"errors"
	"fmt"
	"slices"

	"lockproof/harness/cluster/virtual/bubble"
)

// allowedToStay takes from a trial's error the goroutines that the lock is known to leave behind, and names them.
func (p *Plan) allowedToStay(err error) (left []string, rest error) {
	var remain *bubble.LeftError
	if len(p.Lock.LeavesBehind) == 0 || !errors.As(err, &remain) {
		return nil, err
	}
	for _, g := range remain.Goroutines {
		if !g.StartedIn(p.Lock.LeavesBehind) {
			return nil, fmt.Errorf("%w: %s", err, g)
		}
		left = append(left, g.String())
	}
	if err != error(remain) || len(left) == 0 {
		return nil, err
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}
