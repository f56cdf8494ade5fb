package html

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
	"lockproof/internal/browser"
	"lockproof/reports"
	"lockproof/validate"
	"lockproof/validate/settings"
)

// validated is an answer with everything that a page can show; text is what
// comes from an operator's files.
func validated(t *testing.T, text string) *reports.Validation {
	r, err := settings.ParseRedis(text, "appendonly yes\nappendfsync everysec\nmaxmemory 1gb\nmaxmemory-policy allkeys-lru\nnew-thing 1\n")
	require.NoError(t, err)
	ttls := []time.Duration{30 * time.Second, time.Second}
	point := validate.Point{Persistence: cluster.PersistEverysec, Crash: settings.PowerLoss, TTL: ttls[0], Delay: 5 * time.Second}
	half := validate.Tally{Held: 10, Violated: 10}
	panel := func(p cluster.Persistence, cell validate.Tally, edge validate.Edge) validate.Panel {
		row := []validate.Tally{cell, cell, {Held: 20}, {Inconclusive: 1, Why: text}}
		return validate.Panel{Persistence: p, Crash: settings.PowerLoss, Cells: [][]validate.Tally{row}, Edges: []validate.Edge{edge}}
	}
	limit := validate.Limit{What: text, TTL: ttls[0], Held: 0.0101, Violated: 0.0102, Predicted: 0.01, Trials: 18}
	a := &validate.Answer{
		Question: validate.Question{Redis: r, TTLs: ttls, On: "virtual", Seed: 1, Drift: 0.01},
		Verdict:  validate.Unsafe, Unknown: r.Unknown, Trials: 100, Elapsed: time.Second,
		Rows: []validate.Row{
			{Point: point, Verdict: validate.Unsafe, Reason: text, Tally: half},
			{Point: point, Verdict: validate.Safe, Reason: text, Tally: validate.Tally{Held: 20}},
			{Point: point, Verdict: validate.Inconclusive, Reason: text, Tally: validate.Tally{Inconclusive: 20}},
		},
		Takeovers: []validate.TakeoverRow{{Takeover: validate.TwoMasters, TTL: ttls[0], After: 9 * time.Second, Verdict: validate.Unsafe,
			Reason: text, Tally: half}, {Takeover: validate.ByHand, TTL: ttls[0], Verdict: validate.Safe, Reason: text}},
		Hazards: []validate.Hazard{{Name: validate.Eviction, Verdict: validate.Inconclusive, Reason: text}},
		Remarks: []settings.Remark{{What: text, Doubts: []settings.Crash{settings.Kill}}, {What: text}},
		Gaps:    []validate.Gap{{Crash: settings.Kill, TTL: ttls[0], Longest: 5 * time.Second}},
		Advice: []validate.Advice{{File: text, Lines: []string{"[Service]", text}, ByHand: "no file", Cost: text, Tally: validate.Tally{Held: 60}},
			{File: text, Cost: text, Verdict: validate.Safe, Tally: validate.Tally{Held: 60},
				Diff: &settings.Diff{Text: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-" + text + "\n+appendonly yes\n"}}},
		Delays: []validate.Found{{Crash: settings.Kill, TTL: ttls[0], Delay: 30 * time.Second,
			Predicted: 30 * time.Second, Violated: 29 * time.Second, Tally: half}},
		Drifts: []validate.Limit{limit},
		Pauses: []validate.Limit{limit, {What: text, TTL: ttls[0], Why: text}},
		Throughput: &validate.Throughput{Server: "redis 7.0.15",
			Rates: []validate.Rate{{Persistence: "none", One: 40000, Many: 50000},
				{Persistence: "aof-always", One: 700, Many: 5000}},
			Fdatasync: time.Millisecond, FdatasyncP99: 9 * time.Millisecond, Dir: text},
		Frontier: &validate.Frontier{
			TTLs: ttls[:1], Shares: []float64{0, 0.5, 1, 1.5}, Trials: 10000, Unsafe: 20,
			Panels: []validate.Panel{
				panel(cluster.PersistEverysec, half, validate.Edge{TTL: ttls[0], Predicted: 30300 * time.Millisecond,
					Longest: 30200 * time.Millisecond, Shortest: 30260 * time.Millisecond}),
				panel(cluster.PersistAlways, validate.Tally{Held: 20}, validate.Edge{TTL: ttls[0]}),
			},
			Here: []validate.Point{point, {Persistence: cluster.PersistAlways, Crash: settings.PowerLoss, TTL: ttls[0], Delay: time.Minute}},
			Checks: []validate.Check{{Point: point, Virtual: half, Real: half},
				{Point: point, Virtual: half, Real: validate.Tally{Held: 1}}},
		},
		Skipped: []string{text},
		Failure: text + " failed",
	}
	return reports.NewValidation(a, "devel", time.Unix(0, 0))
}

func validationPage(t *testing.T, text string) string {
	var b strings.Builder
	require.NoError(t, WriteValidation(&b, validated(t, text)))
	return b.String()
}

func TestTheValidationPageShowsEverything(t *testing.T) {
	page := validationPage(t, "a-text")
	for _, part := range []string{
		"unsafe with a TTL of 30s and 1s", "10 of 20, 29 % to 71 % at 95 %",
		"new-thing", "a-text failed", "kill: nobody gets a lock for 5 s",
		"two-masters", "promoted after 9s", "promoted at once", "[Service]", "0 of 60, at most 6.1 % at 95 %", "1.01 %", "redis 7.0.15", "held in all 60 trials: nothing is forgotten",
		"TTL 30s: 30.2s was too short, 30.26s was enough; predicted: 30.3s", "no trial decided", `<span class="bad-text">no</span>`,
		"back after 15s with a TTL of 30s: given away in 10 of 20",
	} {
		require.Contains(t, page, part)
	}
	for _, part := range []string{
		"no diff: no file", `<span class="removed">-a-text`, `<span class="added">&#43;appendonly yes`, "patch -p1 &lt; advice-2.diff",
		"you are here: back after 5s with a TTL of 30s", "you are here: back after 1m with a TTL of 30s, beyond the right edge",
	} {
		require.Contains(t, page, part)
	}
	require.Equal(t, 2+1, strings.Count(page, `class="here"`), "two panels, and the legend")
	require.Equal(t, 1, strings.Count(page, `class="predicted" d="M`)-1, "one panel has a boundary, and the legend")
}

func TestTextsInTheValidationPageAreNoMarkup(t *testing.T) {
	page := validationPage(t, `<img src=x onerror=alert(1)>`)
	require.NotContains(t, page, "<img")
}

func TestTheValidationPageInABrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), reports.ValidationPageFile)
	require.NoError(t, os.WriteFile(file, []byte(validationPage(t, "/etc/redis/a-rather-long-folder-name/redis.conf")), 0o644))
	b := browser.Open(t, "file://"+file)
	for _, width := range []int64{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			b.Media(map[string]string{"prefers-color-scheme": scheme})
			b.Size(width, 900)
			require.Equal(t, "true", b.Text(`document.documentElement.scrollWidth <= innerWidth`), "%s, %d wide", scheme, width)
			b.RequireAccessible()
		}
	}
	b.RequireQuiet()
}
