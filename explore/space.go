package explore

import (
	"slices"
	"time"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

// Space defines the schedules that can be drawn.
type Space struct {
	Lock    string        `json:"lock"`
	Without []string      `json:"without,omitempty"`
	TTL     time.Duration `json:"ttl"`
	Break   []Assumption  `json:"break,omitempty"`
	// Properties are those whose violation counts; none: all.
	Properties []string `json:"properties,omitempty"`
	// Exhaust: every schedule that All lists, instead of drawn ones.
	Exhaust bool `json:"exhaust,omitempty"`

	can locks.Kind // the lock's abilities; set by prepare
}

// prepare finds the lock's abilities, which limit the operations and faults that are drawn.
func (s *Space) prepare() (err error) {
	s.can, err = locks.Find(s.Lock)
	return err
}

// broken reports whether a schedule may break an assumption.
func (s *Space) broken(a Assumption) bool { return slices.Contains(s.Break, a) }

// counts reports whether a violation of the property is a find.
func (s *Space) counts(property string) bool {
	return len(s.Properties) == 0 || slices.Contains(s.Properties, property)
}

// limits are the durations at which a lock's behaviour changes. Half of the drawn durations are near one of them.
type limits struct {
	ttl, nodeTimeout, retryMin, retryMax, validity time.Duration
}

func (s *Space) limits(l scenarios.Lock) limits {
	o := l.Options(s.TTL).WithDefaults()
	return limits{ttl: s.TTL, nodeTimeout: o.NodeTimeout, retryMin: o.RetryMin, retryMax: o.RetryMax,
		validity: s.TTL - time.Duration(o.Drift*float64(s.TTL)) - 2*time.Millisecond}
}

func (l limits) all() []time.Duration {
	return []time.Duration{l.nodeTimeout, l.retryMin, l.retryMax, l.ttl / 2, l.validity, l.ttl, l.ttl + l.nodeTimeout}
}
