package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// detectAbilities acquires the lock without faults, and once more with an extension if the first lease has Extend.
// Child processes started afterwards know the abilities. A last time it acquires the lock for a TTL that is not whole
// seconds. After an error no scenario can run.
func (r *run) detectAbilities(ctx context.Context, k locks.Kind) error {
	found, err := r.preflight(ctx, r.ttl)
	if err != nil {
		return r.nameServer(ctx, err)
	}
	found.Servers = cmp.Or(r.nodes, found.Servers)
	if found.Renews && !found.Watches && found.Belief == undeclared() {
		found.Belief = UntilReleased.description() + renewsSuffix
		found.Notices = append(found.Notices,
			"the lock renews its key by itself, but declares no belief: add Believes(locktest.UntilReleased), or give "+
				"the lease a Context()")
	}
	k.Abilities, r.abilities = *found, found
	locks.Register(k)
	if err = r.restartChildren(found); err == nil && found.Extends {
		_, err = r.preflight(ctx, r.ttl)
	}
	if err == nil && r.ttl == 0 && r.on == suite.Virtual {
		_, part := r.preflight(ctx, fractionalTTL)
		if errors.Is(part, suite.ErrExpiresEarly) { // otherwise the lock refuses this TTL, or fails with it
			err = part
		}
	}
	return err
}

// nameServer tries a lock that fails without faults on the other servers of virtual time, and names the first on which
// it works: the lock sends a command that the default one lacks. In real time each would take minutes.
func (r *run) nameServer(ctx context.Context, failed error) error {
	kind, err := cluster.Find(r.on)
	_, ofCall := errors.AsType[suite.CallError](failed)
	if err != nil || kind.RealTime() || r.server != "" || !ofCall {
		return failed
	}
	defer func() { r.server = "" }()
	for _, r.server = range kind.Servers {
		if _, err := r.preflight(ctx, r.ttl); err == nil {
			return fmt.Errorf("%w. It works on %s: add locktest.OnServer(%[2]q)", failed, r.server)
		}
	}
	return failed
}

// fractionalTTL is a TTL that shows a lock that counts whole seconds.
const fractionalTTL = 1500 * time.Millisecond

func (r *run) preflight(ctx context.Context, ttl time.Duration) (*locks.Abilities, error) {
	o := r.options(r.seed, filepath.Join(r.folder, "first-lease"))
	o.TTL = ttl
	return suite.Preflight(ctx, o, r.children.Run)
}
