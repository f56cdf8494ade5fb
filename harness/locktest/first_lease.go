package locktest

import (
	"cmp"
	"context"
	"path/filepath"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// firstLease has the lock granted with nothing in its way, and says what it can do. An error says what failed: then
// there is no use in anything else.
func (r *run) firstLease(ctx context.Context) (*locks.Abilities, error) {
	found, err := r.preflight(ctx, cmp.Or(r.nodes, suite.PreflightNodes), false)
	if err != nil {
		return nil, err
	}
	found.Servers = cmp.Or(r.nodes, found.Servers)
	if found.Renews && r.belief == "" && !found.Watches {
		found.Belief = UntilReleased.description() + renewsSuffix
		found.Notices = append(found.Notices,
			"the lock renews its key by itself, but declares no belief: add Believes(locktest.UntilReleased), or give "+
				"the lease a Context()")
	}
	return found, nil
}

// firstExtension has a lease prolonged likewise, of a lock that has shown that it can.
func (r *run) firstExtension(ctx context.Context) error {
	if !r.about.Extends {
		return nil
	}
	nodes := cmp.Or(r.about.Servers, suite.PreflightNodes)
	if r.about.SingleNode {
		nodes = 1
	}
	_, err := r.preflight(ctx, nodes, true)
	return err
}

func (r *run) preflight(ctx context.Context, nodes int, extends bool) (*locks.Abilities, error) {
	return suite.Preflight(ctx, r.options(r.seed, filepath.Join(r.folder, "first-lease")), nodes, extends, r.runTrial)
}
