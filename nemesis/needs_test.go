package nemesis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
)

// A fault that not every cluster can do says so in its declaration: scenarios are skipped by that.
func TestFaultsNameTheAbilityThatTheyNeed(t *testing.T) {
	for _, d := range Declarations() {
		if d.Node == nil {
			continue
		}
		t.Run(string(d.Kind), func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				begun, err := r.nemesis.Apply(context.Background(), Fault{Kind: d.Kind, Targets: []string{"n2"}, To: "n3",
					Key: "k1", Delay: time.Second, Jump: time.Second, Duration: 100 * time.Millisecond})
				lack, refused := errors.AsType[*cluster.Unsupported](err)
				declared := d.Node.Needs != "" && r.can(d.Node.Needs) != nil
				require.Equal(t, declared, refused, "needs %q, and got %v", d.Node.Needs, err)
				if refused {
					require.NotEmpty(t, lack.Needs)
				}
				for _, a := range begun {
					require.NoError(t, r.nemesis.End(context.Background(), a))
				}
			})
		})
	}
}
