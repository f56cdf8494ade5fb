package site

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/lab"
	"example.org/lockproof/redlock"
)

// An aborted experiment shows no verdict and fails the request.
func TestAnswer_ExperimentPastItsLimit_Fails(t *testing.T) {
	s := New(suite.Run, true)
	s.limit = 10 * time.Millisecond
	for _, r := range []Request{
		{Path: "lab/healthy-contention.html", Posted: true},
		{Path: "lab/healthy-contention.html/boundary", Form: url.Values{"control": {"ttl"}}, Posted: true},
	} {
		page := s.Answer(t.Context(), r)
		require.Equal(t, tookTooLong, page.Status, r.Path)
		require.Contains(t, string(page.Body), "The experiment took too long and was stopped.")
		require.NotContains(t, string(page.Body), "inconclusive", "no verdict is shown")
	}
}

// Links are relative between files, and absolute on a server.
func TestAnswer_Links_RelativeOrAbsolute(t *testing.T) {
	for served, want := range map[bool]string{true: `href="/guide/5-restarts.html"`,
		false: `href="../guide/5-restarts.html"`} {
		page := New(suite.Run, served).Answer(t.Context(), Request{Path: "lab/restart-delay-too-short.html", Posted: true})
		require.Equal(t, ok, page.Status)
		require.Contains(t, string(page.Body), want)
		page = New(suite.Run, served).Answer(t.Context(), Request{Path: "stories/restart-delay-too-short.html"})
		require.Equal(t, ok, page.Status)
		require.Contains(t, string(page.Body), want)
	}
}

// Rules exist only in the reference: to switch one off in another lock is an error.
func TestLab_OtherLock_RunsWithoutRules(t *testing.T) {
	s := New(suite.Run, true)
	form := url.Values{lab.LockControl: {"redsync"}}
	page := s.Answer(t.Context(), Request{Path: "lab/late-release.html", Form: form, Posted: true})
	require.Equal(t, ok, page.Status)
	require.Contains(t, string(page.Body), `data-verdict="violated"`)
	form.Set(lab.RuleControl, string(redlock.FreshToken))
	page = s.Answer(t.Context(), Request{Path: "lab/late-release.html", Form: form, Posted: true})
	require.Equal(t, wrongForm, page.Status)
	require.Contains(t, string(page.Body), "redsync has no rules to switch off")
}

// A server's exercise works step by step without JavaScript.
func TestExercise_NoScript_ContinuesStepByStep(t *testing.T) {
	s := New(suite.Run, true)
	form := url.Values{"token": {"attempt"}, "compare": {"script"}}
	page := s.Answer(t.Context(), Request{Path: "exercises/token.html", Form: form, Posted: true})
	require.Equal(t, ok, page.Status)
	require.Contains(t, string(page.Body), `name="tried" value="25"`)
	form.Set("tried", "75")
	page = s.Answer(t.Context(), Request{Path: "exercises/token.html", Form: form, Posted: true})
	require.Contains(t, string(page.Body), "data-passed")
	last := url.Values{"owner": {"mine"}, "enough": {"majority"}, "often": {"bounded"}, "tried": {"75"}}
	page = s.Answer(t.Context(), Request{Path: "exercises/extension.html", Form: last, Posted: true})
	require.Contains(t, string(page.Body), `<var data-own="validity" data-name="validity">ttl - elapsed - drift</var>`)
	for _, wrong := range []url.Values{
		{"token": {"attempt"}}, {"token": {"attempt"}, "compare": {"x"}}, {"token": {"attempt"}, "compare": {"script"},
			"tried": {"x"}},
	} {
		page = s.Answer(t.Context(), Request{Path: "exercises/token.html", Form: wrong, Posted: true})
		require.Equal(t, wrongForm, page.Status)
	}
	form.Set("tried", "101")
	require.Equal(t, broken, s.Answer(t.Context(), Request{Path: "exercises/token.html", Form: form, Posted: true}).Status)
	require.Equal(t, notFound, s.Answer(t.Context(), Request{Path: "exercises/none.html"}).Status)
}

func TestAssets(t *testing.T) {
	all := Assets()
	for _, name := range []string{"page.css", "site.css", "page.js", "lab.js", "exercise.js", "engine.js", "icon.svg"} {
		require.NotEmpty(t, all[name], name)
	}
	require.Len(t, all, 7, "no template is among them")
}

// The cause quotes the learner's decision, not the rule's name.
func TestExercise_BrokenLock_QuotesTheDecision(t *testing.T) {
	s := New(suite.Run, true)
	form := url.Values{"quorum": {"N/2"}, "list": {"servers"}}
	page := s.Answer(t.Context(), Request{Path: "exercises/majority.html", Form: form, Posted: true})
	require.Equal(t, ok, page.Status)
	require.Contains(t, string(page.Body), "your decision, “Grants needed: N/2”: 2 of 4 servers are enough.")
	require.NotContains(t, string(page.Body), "the rule Majority")
}
