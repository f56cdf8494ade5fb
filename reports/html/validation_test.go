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
	"lockproof/validate/deploy"
	"lockproof/validate/settings"
)

// validated is an answer with everything that a page can show; text is what
// comes from an operator's files.
func validated(t *testing.T, text string) *reports.Validation {
	r, err := settings.ParseRedis(text, "appendonly yes\nappendfsync everysec\n")
	require.NoError(t, err)
	ttls := []time.Duration{30 * time.Second, time.Second}
	point := validate.Point{Persistence: cluster.PersistEverysec, Crash: settings.PowerLoss, TTL: ttls[0], Delay: 5 * time.Second}
	half := validate.Tally{Held: 10, Violated: 10}
	link := deploy.Link{Name: deploy.Data, State: deploy.Assumed, Place: settings.Place{File: text}, What: text + " assumed"}
	a := &validate.Answer{
		Question: validate.Question{TTLs: ttls, On: "virtual", Seed: 1, Drift: 0.01},
		Server:   &deploy.Server{Redis: r, Kind: deploy.ConfigOnly, Place: settings.Place{File: text}, Chain: deploy.Chain{Links: []deploy.Link{link}}},
		Verdict:  validate.Unsafe, Trials: 100, Elapsed: time.Second,
		Rows: []validate.Row{
			{Point: point, Verdict: validate.Unsafe, Reason: text, Tally: half},
			{Point: point, Verdict: validate.Safe, Reason: text, Condition: "only if it is so", Tally: validate.Tally{Held: 20}},
			{Point: point, Verdict: validate.Inconclusive, Reason: text, Tally: validate.Tally{Inconclusive: 20}},
		},
		Takeovers: []validate.TakeoverRow{{Takeover: validate.TwoMasters, TTL: ttls[0], After: 9 * time.Second, Verdict: validate.Unsafe,
			Reason: text, Tally: half}, {Takeover: validate.ByHand, TTL: ttls[0], Verdict: validate.Safe, Reason: text}},
		Hazards:     []validate.Hazard{{Name: validate.Eviction, Verdict: validate.Inconclusive, Reason: text}},
		Assumptions: []deploy.Link{link},
		Runbooks: []validate.Runbook{{Name: text, Price: "a price", Check: "a check", Steps: []validate.Step{{Redis: []string{"CONFIG", "SET", "x", "y"}},
			{Line: "appendonly yes", Was: text, Place: settings.Place{File: "redis.conf", Line: 7}}}, Back: []validate.Step{{Do: "the way back"}}}},
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
		"unsafe: a-text with a TTL of 30s and 1s", "10 of 20 trials lost the lock", "20 trials, none lost the lock", "only if it is so", "in doubt",
		"a-text failed", "two-masters", "promoted after 9s", "promoted at once", "a-text assumed", "redis-cli CONFIG SET x y",
		"redis.conf:7: appendonly yes (was: a-text)", "the way back", "a price", "a check",
	} {
		require.Contains(t, page, part)
	}
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
	b.RequireNoErrors()
}
