package suggest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
	}{
		{"clock", []string{"clock-back", "clock-ahead"}},
		{"clock-bakc", []string{"clock-back"}},
		{"CLOCK-BACK", []string{"clock-back"}},
		{"late-set", []string{"late-get", "late-sit"}},
		{"cl", nil},
		{"n2", nil},
		{"nothing like it", nil},
		{"", nil},
		{strings.Repeat("clock-back", 1_000_000), nil},
	} {
		require.Equal(t, c.want, Names(c.name, []string{"clock-back", "clock-ahead", "late-get", "late-sit", "n1"}), "%.20s",
			c.name)
	}
}
