// Package locktest tests your lock under faults, in a Go test:
//
//	func TestLock(t *testing.T) {
//		locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
//			return mylock.New(env.Client(0)), nil
//		})
//	}
//
// Each scenario of the catalogue is a subtest, skipped with the reason if it does not fit the lock. With several
// trials, each trial is a subtest of that: TestLock/late-release/seed=7. Trials run in virtual time and take
// milliseconds, unless On or RealTime choose real servers. Explore then searches random schedules of operations and
// faults.
//
// A lock needs Acquire, and a lease Release. Optional methods of a lease are detected by interface: Extender, Valid,
// Expiring, Tokened, Fenced, Contextual.
//
// Trials run in child processes: the test binary starts itself, and the child serves trials when it reaches the same
// call of Run. So a lock may panic, spin or block without stopping the other tests. The children also execute
// TestMain and the test's code before Run.
package locktest
