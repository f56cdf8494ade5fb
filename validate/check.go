package validate

import (
	"context"
	"slices"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/suite"
	"lockproof/validate/settings"
)

// Check is one point that was run in virtual time and on real servers.
type Check struct {
	Point
	Virtual Tally `json:"virtual"`
	Real    Tally `json:"real"`
}

// Agrees reports whether both gave the same verdict.
func (c Check) Agrees() bool {
	return c.Virtual.Decided() > 0 && c.Real.Decided() > 0 && (c.Virtual.Violated > 0) == (c.Real.Violated > 0)
}

// Unsafe reports whether the point is on the unsafe side, by virtual time.
func (c Check) Unsafe() bool { return c.Virtual.Violated > 0 }

// checkTTL is the TTL of points on real servers: short, and long enough for a
// restart within a tenth of it on a busy machine.
const checkTTL = 2 * time.Second

// checked are points along the boundary, on both sides of it.
func checked() []Point {
	point := func(p cluster.Persistence, crash settings.Crash, share float64) Point {
		return Point{Persistence: p, Crash: crash, TTL: checkTTL, Delay: time.Duration(share * float64(checkTTL))}
	}
	none, rdb, no, everysec, always := cluster.PersistNone, cluster.PersistRDB, cluster.PersistNo,
		cluster.PersistEverysec, cluster.PersistAlways
	return []Point{
		point(none, settings.Kill, 0), point(none, settings.Kill, 0.5), point(none, settings.Kill, 0.8), point(none, settings.Kill, 0.9),
		point(rdb, settings.Kill, 0.7), point(none, settings.Shutdown, 0.85), point(none, settings.PowerLoss, 0.6),
		point(no, settings.PowerLoss, 0.9), point(everysec, settings.PowerLoss, 0.3),
		point(none, settings.Kill, 1.03), point(none, settings.Kill, 1.1), point(none, settings.Kill, 1.4), point(rdb, settings.Kill, 1.05),
		point(none, settings.Shutdown, 1.04), point(no, settings.PowerLoss, 1.05), point(everysec, settings.PowerLoss, 1.05),
		point(rdb, settings.Shutdown, 0), point(everysec, settings.Kill, 0), point(always, settings.PowerLoss,
			0), point(always, settings.PowerLoss, 0.5),
	}
}

// everysecTries is how often a point is tried on real servers at the most: the
// second of everysec may turn between two commands.
const everysecTries = 3

// Confirm runs points along the boundary in virtual time and on real servers.
func (a *Asker) Confirm(ctx context.Context) ([]Check, error) {
	points := checked()
	a.stage("%d points along the boundary on real Redis", len(points))
	virtual, err := a.tally(ctx, points, 0, 1, suite.Virtual, false)
	if err != nil {
		return nil, err
	}
	checks := make([]Check, len(points))
	var open []int
	for i, p := range points {
		checks[i] = Check{Point: p, Virtual: virtual[i]}
		open = append(open, i)
	}
	for try := 0; try < everysecTries && len(open) > 0 && ctx.Err() == nil; try++ {
		again := make([]Point, len(open))
		for i, at := range open {
			again[i] = points[at]
		}
		tallies, err := a.tally(ctx, again, 0, 1, suite.Local, false)
		if err != nil {
			return nil, err
		}
		var next []int
		for i, at := range open {
			c := &checks[at]
			c.Real.Held += tallies[i].Held
			c.Real.Violated += tallies[i].Violated
			c.Real.Inconclusive += tallies[i].Inconclusive
			c.Real.Failed += tallies[i].Failed
			if tallies[i].Why != "" {
				c.Real.Why = tallies[i].Why
			}
			if c.Real.Decided() == 0 || c.Persistence == cluster.PersistEverysec && c.Unsafe() && c.Real.Violated == 0 {
				next = append(next, at)
			}
		}
		open = next
	}
	if ctx.Err() != nil {
		checks = slices.DeleteFunc(checks, func(c Check) bool { return c.Virtual.Decided() == 0 || c.Real.Decided() == 0 })
	}
	return checks, nil
}
