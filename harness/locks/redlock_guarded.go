package locks

import (
	"time"

	"lockproof/redlock"
)

func init() {
	Register(Kind{
		Name: Guarded,
		Doc:  "the reference with a restart guard for the longest TTL of the scenario",
		New: func(env Env) (Lock, error) {
			return newReference(env, redlock.WithRestartGuard(env.longest()))
		},
		OwnClock: true, Rules: true, Guards: true, Majority: true, Extends: true, Watches: true,
		Settled: func(o Options) time.Duration {
			return o.longest() + time.Duration(o.Drift*float64(o.longest())) + uptimeError
		},
	})
}

// uptimeError is how much later than at a whole duration a server's uptime, which it
// tells in whole seconds, is sure to have reached that.
const uptimeError = 3 * time.Second

// longest is the longest TTL of all clients.
func (o Options) longest() time.Duration { return max(o.TTL, o.LongestTTL) }
