package checker

import "lockproof/harness/history"

// Property declares one property: everything about it is here and in the file of
// what judges it.
type Property struct {
	Name    string // one of history.Properties: scenario files and results name it so
	Meaning string // it holds when this is so
	judge   func(r *run, second oracles) (Result, error)
}

// properties are all of them, in the order of history.Properties.
var properties = []Property{
	{
		history.MutualExclusion, "no two leases on one key overlap on the true clock",
		func(r *run, second oracles) (Result, error) { return r.mutualExclusion(second.mutex) },
	},
	{
		history.ProtectedData, "at the guarded store no acknowledged update is lost and no stale write accepted",
		func(r *run, second oracles) (Result, error) { return r.protectedData(second.register) },
	},
	{
		history.Fencing, "tokens handed out grow strictly in grant order",
		func(r *run, _ oracles) (Result, error) { return r.fencing(), nil },
	},
	{
		history.DeadlockFreedom, "whoever goes on asking gets the lock once holders are gone and a majority answers",
		func(r *run, _ oracles) (Result, error) { return r.deadlockFreedom(), nil },
	},
	{
		history.FaultTolerance, "while a healthy majority can be reached and nobody holds the lock, somebody is granted it in time",
		func(r *run, _ oracles) (Result, error) { return r.faultTolerance(), nil },
	},
}
