package locktest

import (
	"cmp"
	"context"
	"path/filepath"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// detectAbilities acquires the lock without faults, and once more with an extension if the first lease has Extend.
// Child processes started afterwards know the abilities. After an error no scenario can run.
func (r *run) detectAbilities(ctx context.Context, k locks.Kind, build New) error {
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
	k.Abilities, r.abilities = *found, found
	register(k, build, r.settings)
	if err = r.restartChildren(found); err == nil && found.Extends {
		_, err = r.preflight(ctx)
	}
	return err
}

func (r *run) preflight(ctx context.Context) (*locks.Abilities, error) {
	return suite.Preflight(ctx, r.options(r.seed, filepath.Join(r.folder, "first-lease")), r.runTrial)
}
