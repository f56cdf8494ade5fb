package explore

import (
	"slices"
	"time"

	"example.org/lockproof/harness/locks"
)

// Space is what schedules are drawn from.
type Space struct {
	Lock    string        `json:"lock"`
	Without []string      `json:"without,omitempty"`
	TTL     time.Duration `json:"ttl"`
	Break   []Assumption  `json:"break,omitempty"`
	// Properties are those whose violation counts; none: every one.
	Properties []string `json:"properties,omitempty"`
	// Exhaust: every schedule that All lists, in place of drawn ones.
	Exhaust bool `json:"exhaust,omitempty"`

	can locks.Kind // what the lock can do; filled in by prepare
}

// prepare finds out what the lock can do: nothing else is drawn.
func (s *Space) prepare() (err error) {
	s.can, err = locks.Find(s.Lock)
	return err
}

// broken reports whether a schedule need not keep to an assumption.
func (s *Space) broken(a Assumption) bool { return slices.Contains(s.Break, a) }

// counts reports whether a violation of the property is looked for.
func (s *Space) counts(property string) bool {
	return len(s.Properties) == 0 || slices.Contains(s.Properties, property)
}

// limits are the durations at which something changes for a lock: what is drawn lies
// around them more often than anywhere else.
type limits struct {
	ttl, nodeTimeout, retryMin, retryMax, validity time.Duration
}

func (s *Space) limits(l Lock) limits {
	o := locks.Options{TTL: s.TTL, NodeTimeout: l.NodeTimeout, RetryMin: l.RetryMin, RetryMax: l.RetryMax}.WithDefaults()
	return limits{ttl: s.TTL, nodeTimeout: o.NodeTimeout, retryMin: o.RetryMin, retryMax: o.RetryMax,
		validity: s.TTL - time.Duration(o.Drift*float64(s.TTL)) - 2*time.Millisecond}
}

func (l limits) all() []time.Duration {
	return []time.Duration{l.nodeTimeout, l.retryMin, l.retryMax, l.ttl / 2, l.validity, l.ttl, l.ttl + l.nodeTimeout}
}
