package validation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/validate"
	"example.org/lockproof/validate/deploy"
	conf "example.org/lockproof/validate/settings"
)

// A row names a TTL only if its answer depends on it, and verdicts are below each other.
func TestText_Rows_AlignedAndNamedOnce(t *testing.T) {
	row := func(c conf.Crash, ttl time.Duration, v validate.Verdict, why string) validate.Row {
		return validate.Row{Point: validate.Point{Crash: c, TTL: ttl}, Verdict: v, Reason: why}
	}
	a := &validate.Answer{Rows: []validate.Row{
		row(conf.Kill, 30*time.Second, validate.Safe, "why one"), row(conf.Kill, 5*time.Second, validate.Safe, "why one"),
		row(conf.PowerLoss, 30*time.Second, validate.Unsafe, "why two"),
		row(conf.PowerLoss, 5*time.Second, validate.Safe, "why three"),
	}}
	a.Server = &deploy.Server{Unread: true}
	v := &Report{Answer: a, TTLs: []time.Duration{30 * time.Second, 5 * time.Second}}
	lines := strings.Split(v.Text(terminal.Screen{Width: 80}, false), "\n")
	require.Equal(t, []string{
		"  kill            ✓ safe    why one",
		"  power loss 30s  ✗ unsafe  why two",
		"  power loss 5s   ✓ safe    why three",
	}, lines[1:4])
}
