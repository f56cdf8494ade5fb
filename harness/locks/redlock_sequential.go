package locks

import "lockproof/redlock"

func init() {
	Register(Kind{
		Name: "redlock-sequential",
		Doc:  "the reference, asking one node after the other instead of all at once",
		New: func(env Env) (Lock, error) {
			return newReference(env, redlock.WithNodesInTurn())
		},
		OwnClock: true, Rules: true, Majority: true, Extends: true,
	})
}
