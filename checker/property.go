package checker

import "lockproof/harness/history"

// Property declares one property: everything about it is here and in the file of
// what judges it.
type Property struct {
	Name    string // one of history.Properties: scenario files and results name it so
	Meaning string // it holds when this is so
	judge   func(a *analysis, b *blamer, second oracles) (Result, error)
}

// properties are all of them, in the order of history.Properties.
var properties = []Property{
	{
		history.MutualExclusion, "no two leases on one key overlap on the true clock",
		func(a *analysis, b *blamer, second oracles) (Result, error) {
			return (&mutualExclusion{a, b}).judge(second.mutex)
		},
	},
	{
		history.ProtectedData, "at the guarded store no acknowledged update is lost and no stale write accepted",
		func(a *analysis, b *blamer, second oracles) (Result, error) {
			return (&protectedData{a, b}).judge(second.register)
		},
	},
	{
		history.Fencing, "tokens handed out grow strictly in grant order",
		func(a *analysis, b *blamer, _ oracles) (Result, error) { return (&fencing{a, b}).judge(), nil },
	},
	{
		history.DeadlockFreedom, "whoever goes on asking gets the lock once holders are gone and a majority answers",
		func(a *analysis, b *blamer, _ oracles) (Result, error) { return (&deadlockFreedom{a, b}).judge(), nil },
	},
	{
		history.FaultTolerance, "while a healthy majority can be reached and nobody holds the lock, somebody is granted it in time",
		func(a *analysis, b *blamer, _ oracles) (Result, error) { return (&faultTolerance{a, b}).judge(), nil },
	},
}
