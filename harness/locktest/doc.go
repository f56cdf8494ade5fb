// Package locktest puts a lock of yours through what can go wrong, in a Go test:
//
//	func TestLock(t *testing.T) {
//		locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
//			return mylock.New(env.Client(0)), nil
//		})
//	}
//
// Each scenario of the catalogue that makes sense for the lock is a subtest, and
// each of its trials one below it: TestLock/late-release/seed=7. Trials are in
// virtual time, and take milliseconds, unless On or RealTime say otherwise. Explore
// goes on with schedules that nobody scripted.
//
// A lock is an Acquire, and a lease a Release. All else that a lease may have is
// found by interface: Extender, Valid, Expiring, Tokened, Fenced, Contextual.
//
// Trials run in processes of their own: the test binary starts itself, once more
// comes to Run, and there serves trials. So a lock may panic, spin or block without
// taking the other tests with it. What stands before Run in a test, and TestMain,
// is run by these processes too.
package locktest
