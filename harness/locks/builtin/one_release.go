package builtin

import "example.org/lockproof/harness/locks"

func init() {
	locks.Register(locks.Kind{
		Name:     "single-one-release",
		Doc:      "one node, naive: a release is sent once, on the caller's context: if that ends first, the key stays",
		New:      newOneRelease,
		OwnClock: true, Extends: true, SingleNode: true,
	})
}

// newOneRelease makes the mistake: the token is dropped before the release is known to have
// arrived, so that nobody can send it again.
func newOneRelease(env locks.Env) (locks.Lock, error) {
	l := newNodeLock(env)
	l.acquire, l.release, l.extend = l.setNX, l.deleteOwn, l.expireOwn
	return l, nil
}
