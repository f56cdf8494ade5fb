package nemesis

import "context"

// Declare declares a fault for a test that stands outside this package, so that it
// can use those that build on it.
func Declare(d *Declaration, apply func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error)) {
	d.apply = apply
	declare(d)
}

// NodeOf, BeginFault and EndKinds are what the code of a fault uses.
var (
	NodeOf   = (*Nemesis).node
	EndKinds = (*Nemesis).endMatching
)

// BeginFault records a fault that lasts; end undoes it, and both say what they
// measured.
func BeginFault(n *Nemesis, f Fault, target string, measured map[string]string,
	end func(context.Context) (measured map[string]string, effective bool, err error)) *Active {
	a := &Active{Target: target, fault: f, end: func(ctx context.Context) (proof, error) {
		measured, effective, err := end(ctx)
		return proof{measured: measured, effective: effective}, err
	}}
	return n.begin(a, proof{measured: measured, effective: true})
}
