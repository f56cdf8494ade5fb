package nemesis

import (
	"context"
	"fmt"

	"lockproof/harness/history"
)

// Resume is SIGCONT, the end of a pause.
const Resume = "resume"

var _ = declare(&Declaration{
	Kind: Resume, Doc: "SIGCONT",
	Node: &Effect{Class: history.Resumed}, Client: &Effect{Class: history.Resumed},
	Words: Words{ToDo: order("let %s run on (SIGCONT)"), Begun: runOn},
	apply: (*Nemesis).endKinds,
})

func runOn(f history.Fault) string { return who(f) + " resume" + s(f) }

// endKinds ends every fault on a target that this kind ends; there must be one.
func (n *Nemesis) endKinds(ctx context.Context, f Fault, target string) (*Active, error) {
	kinds := endedBy(f.Kind)
	ending := n.on(target, kinds...)
	if len(ending) == 0 {
		return nil, fmt.Errorf("no %s is in effect on it", kinds[0])
	}
	return nil, n.endEach(ctx, ending)
}
