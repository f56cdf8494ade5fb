package locktest

import (
	"cmp"
	"context"
	"path/filepath"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// introduce has the lock granted with nothing in its way, and then extended, if its first lease shows that it can
// be; it lets the processes that are started from now on know what the lock can do. An error says what failed: then
// there is no use in anything else.
func (r *run) introduce(ctx context.Context, k locks.Kind, build New) error {
	found, err := r.preflight(ctx)
	if err != nil {
		return err
	}
	found.Servers = cmp.Or(r.nodes, found.Servers)
	if found.Renews && r.belief == "" && !found.Watches {
		found.Belief = UntilReleased.description() + renewsSuffix
		found.Notices = append(found.Notices,
			"the lock renews its key by itself, but declares no belief: add Believes(locktest.UntilReleased), or give "+
				"the lease a Context()")
	}
	k.Abilities, r.about = *found, found
	register(k, build, r.settings)
	if err = r.restartChildren(found); err == nil && found.Extends {
		_, err = r.preflight(ctx)
	}
	return err
}

func (r *run) preflight(ctx context.Context) (*locks.Abilities, error) {
	return suite.Preflight(ctx, r.options(r.seed, filepath.Join(r.folder, "first-lease")), r.runTrial)
}
