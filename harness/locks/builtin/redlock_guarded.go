package builtin

import (
	"time"

	"example.org/lockproof/harness/locks"
)

func init() {
	locks.Register(locks.Kind{
		Name: locks.Guarded,
		Doc:  "the reference with a restart guard for the longest TTL of the scenario",
		New: func(env locks.Env) (locks.Lock, error) {
			return newReference(env, env.LongestTTL())
		},
		Abilities: redlockCan, Rules: true, RestartGuard: true, Majority: true,
		WarmUp: func(o locks.Options) time.Duration {
			return o.LongestTTL() + time.Duration(o.Drift*float64(o.LongestTTL())) + uptimeError
		},
	})
}

// uptimeError bounds the delay until a server's uptime, in whole seconds, is sure to reach a duration.
const uptimeError = 3 * time.Second
