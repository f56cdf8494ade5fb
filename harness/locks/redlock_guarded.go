package locks

import "time"

func init() {
	Register(Kind{
		Name: Guarded,
		Doc:  "the reference with a restart guard for the longest TTL of the scenario",
		New: func(env Env) (Lock, error) {
			return newReference(env, env.maxTTL())
		},
		OwnClock: true, Rules: true, RestartGuard: true, Majority: true, Extends: true, Watches: true,
		WarmUp: func(o Options) time.Duration {
			return o.maxTTL() + time.Duration(o.Drift*float64(o.maxTTL())) + uptimeError
		},
	})
}

// uptimeError is how much later than at a whole duration a server's uptime, which it
// tells in whole seconds, is sure to have reached that.
const uptimeError = 3 * time.Second

// maxTTL is the longest TTL of all clients.
func (o Options) maxTTL() time.Duration { return max(o.TTL, o.MaxTTL) }
