package nemesis

import (
	"context"
	"fmt"

	"example.org/lockproof/harness/history"
)

// Resume sends SIGCONT, which ends a pause.
const Resume = "resume"

var _ = declare(&Declaration{
	Kind: Resume, Doc: "SIGCONT",
	Node: &Effect{Class: history.Resumed}, Client: &Effect{Class: history.Resumed},
	Words: Words{Instruction: instructionFor("resume %s (SIGCONT)"), Begin: resumeText},
	apply: (*Nemesis).endMatching,
})

func resumeText(f history.Fault) string { return targetList(f) + " resume" + verbEnding(f) }

// NotInEffect is the error of an end without a fault that it could end.
type NotInEffect string

func (e NotInEffect) Error() string { return string(e) }

// endMatching ends all faults on a target that this kind ends; there must be one.
func (n *Nemesis) endMatching(ctx context.Context, f Fault, target string) (*Active, error) {
	kinds := kindsEndedBy(f.Kind)
	ending := n.activeOn(target, kinds...)
	if len(ending) == 0 {
		return nil, NotInEffect(fmt.Sprintf("no %s is in effect", kinds[0]))
	}
	return nil, n.endFaults(ctx, ending)
}
