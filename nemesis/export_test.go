package nemesis

import "context"

// Declare declares a fault for a test outside this package, which can import packages that import this one.
func Declare(d *Declaration, apply func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error)) {
	d.apply = apply
	declare(d)
}

// NodeOf and EndKinds are used by the code of a fault.
var (
	NodeOf   = (*Nemesis).node
	EndKinds = (*Nemesis).endMatching
)

// BeginFault records the begin of a fault with its measured values; end undoes it and returns others.
func BeginFault(n *Nemesis, f Fault, target string, measured map[string]string,
	end func(context.Context) (measured map[string]string, effective bool, err error)) *Active {
	a := &Active{Target: target, fault: f, end: func(ctx context.Context) (proof, error) {
		measured, effective, err := end(ctx)
		return proof{measured: measured, effective: effective}, err
	}}
	return n.begin(a, proof{measured: measured, effective: true})
}
