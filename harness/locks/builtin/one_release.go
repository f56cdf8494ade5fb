package builtin

import "example.org/lockproof/harness/locks"

// single-one-release makes the mistake: the token is dropped before the release is known to have
// arrived, so that nobody can send it again.
func init() {
	locks.Register(locks.Kind{
		Name:     "single-one-release",
		Doc:      "one node, naive: a release is sent once, on the caller's context: if that ends first, the key stays",
		New:      nodeLockWith(func(l *nodeLock) { l.acquire, l.release, l.extend = l.setNX, l.deleteOwn, l.expireOwn }),
		OwnClock: true, Extends: true, SingleNode: true,
	})
}
