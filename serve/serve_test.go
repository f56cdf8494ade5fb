package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/html"
	"example.org/lockproof/scenarios"
)

// markup must not become part of a page's structure.
const markup = `<img src=x onerror=alert(1)>"'</script>`

// start serves a folder until the test ends, and returns the address.
func start(t testing.TB, dir string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, err := New(ctx, dir, suite.Run)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(2 * closeTimeout):
			t.Error("the server does not end")
		}
		require.NoError(t, s.Close())
	})
	return "http://" + l.Addr().String()
}

// begin begins a run's progress in its folder. The folder stays open until the test ends.
func begin(t testing.TB, run reports.Run) *reports.Progress {
	t.Helper()
	folder, err := reports.OpenFolder(run.Options.Out)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, folder.Close()) })
	p, err := folder.Begin(run)
	require.NoError(t, err)
	return p
}

// keepRun runs scenarios in virtual time and writes the output folder.
func keepRun(t testing.TB, out, lock string, names ...string) {
	t.Helper()
	all, err := scenarios.Select(names)
	require.NoError(t, err)
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Out: out, Lock: lock}
	jobs, err := o.Jobs(all)
	require.NoError(t, err)
	trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
	require.NoError(t, err)
	report := reports.New(trials, reports.Run{Options: o, Planned: len(jobs), Started: time.Now(), Version: "v1",
		Go: "go1"})
	_, err = report.WriteFiles(reports.File{Name: reports.PageFile,
		Write: func(w io.Writer) error { return html.Write(w, report, all) }})
	require.NoError(t, err)
}

// keepTwoRuns fills a folder with two runs.
func keepTwoRuns(t testing.TB, dir string) {
	t.Helper()
	keepRun(t, filepath.Join(dir, "mine"), "", "restart-delay-too-short", "late-release")
	keepRun(t, filepath.Join(dir, "deeper", "theirs"), "redsync", "restart-delay-too-short", "late-release")
}

func get(t testing.TB, address string) (int, http.Header, string) {
	t.Helper()
	r, err := http.Get(address)
	require.NoError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, r.Header, string(body)
}

func post(t testing.TB, address string, form url.Values) (int, string) {
	t.Helper()
	r, err := http.PostForm(address, form)
	require.NoError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(body)
}

func TestRuns_AreListedAndServed(t *testing.T) {
	dir := t.TempDir()
	keepTwoRuns(t, dir)
	at := start(t, dir)
	status, header, body := get(t, at+"/")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, policy, header.Get("Content-Security-Policy"))
	require.Contains(t, body, `href="/files/mine/report.html"`)
	require.Contains(t, body, `href="/files/deeper/theirs/report.html"`)
	require.Contains(t, body, "lock redsync")
	for _, name := range []string{"report.html", "results.json", "junit.xml", "summary.md",
		"trials/restart-delay-too-short/000/history.jsonl"} {
		status, header, body := get(t, at+"/files/mine/"+name)
		require.Equal(t, http.StatusOK, status, name)
		require.NotEmpty(t, body)
		require.Contains(t, header.Get("Content-Security-Policy"), "sandbox", name)
	}
}

// A page may come later than the results, as a merge writes them.
func TestList_LinksToThePageOfEachRun(t *testing.T) {
	dir := t.TempDir()
	at := start(t, dir)
	for _, name := range []string{"run #1", "a?b=c", "100%25", "日"} {
		keepRun(t, filepath.Join(dir, name), "", "flushall")
		page, later := filepath.Join(dir, name, reports.PageFile), filepath.Join(dir, "later")
		require.NoError(t, os.Rename(page, later))
		_, _, body := get(t, at+"/")
		require.Contains(t, body, reports.SummaryFile)
		require.NoError(t, os.Rename(later, page))
		_, _, body = get(t, at+"/")
		link := regexp.MustCompile(`href="(/files/[^"]+)"`).FindStringSubmatch(body)
		require.NotNil(t, link, name)
		status, _, _ := get(t, at+link[1])
		require.Equal(t, http.StatusOK, status, link[1])
		require.Contains(t, link[1], reports.PageFile)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
	}
}

// No request returns a file outside the folder, or a file that is not a run's.
func TestFile_OtherFiles_AreRefused(t *testing.T) {
	dir := t.TempDir()
	keepRun(t, filepath.Join(dir, "mine"), "", "flushall")
	outside := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine", "key.pem"), []byte("secret"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "linked"), 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "linked", "results.json")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "away")))
	at := start(t, dir)
	for _, path := range []string{
		"/files/mine/key.pem", "/files/linked/results.json", "/files/away/results.json", "/files/mine", "/files/",
		"/files/..%2f..%2fetc%2fpasswd", "/files/mine/..%2f..%2fresults.json", "/files/%2fetc%2fpasswd",
		"/files/mine%00/results.json",
		"/assets/..%2fserve.go", "/assets/browse.gohtml", "/lab/none", "/none",
	} {
		status, _, body := get(t, at+path)
		require.GreaterOrEqual(t, status, 400, path)
		require.NotContains(t, body, "secret", path)
	}
	_, _, body := get(t, at+"/")
	require.NotContains(t, body, `<th scope="row">linked`, "a link to results is no run")
	require.NotContains(t, body, `<th scope="row">away`)
}

// A chapter shows a picture in place of its text's drawing.
func TestGuide_ShowsPictures(t *testing.T) {
	status, _, body := get(t, start(t, t.TempDir())+"/guide/4-time.html")
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, body, "▓▓")
	require.Equal(t, 2, strings.Count(body, `<figure class="timeline"`))
	require.Contains(t, body, "woke, and overwrote c2&#39;s update")
}

// The server refuses other host names and requests from other sites.
func TestGuard_OtherHostOrSite_IsRefused(t *testing.T) {
	at := start(t, t.TempDir())
	own := strings.TrimPrefix(at, "http://")
	_, port, _ := net.SplitHostPort(own)
	for _, tt := range []struct {
		method, host string
		header       http.Header
		want         int
	}{
		{"GET", own, nil, http.StatusOK},
		{"GET", "localhost:" + port, nil, http.StatusOK},
		{"GET", "[::1]:" + port, nil, http.StatusOK},
		{"GET", "rebound.example:" + port, nil, http.StatusMisdirectedRequest},
		{"GET", "127.0.0.1:1", nil, http.StatusMisdirectedRequest},
		{"GET", "127.0.0.1", nil, http.StatusMisdirectedRequest},
		{"POST", own, http.Header{"Origin": {"https://example.org"}}, http.StatusForbidden},
		{"POST", own, http.Header{"Origin": {"null"}}, http.StatusForbidden},
		{"POST", own, http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		{"POST", own, http.Header{"Sec-Fetch-Site": {"same-site"}}, http.StatusForbidden},
		{"POST", own, http.Header{"Origin": {at}}, http.StatusOK},
	} {
		r, err := http.NewRequest(tt.method, at+"/lab/flushall", nil)
		require.NoError(t, err)
		r.Host = tt.host
		for name, values := range tt.header {
			r.Header[name] = values
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, tt.want, answer.StatusCode, "%s %s %v", tt.method, tt.host, tt.header)
	}
}

// Text from files is escaped.
func TestPages_MarkupInFiles_IsEscaped(t *testing.T) {
	dir := t.TempDir()
	row := func(name string) suite.Result {
		return suite.Result{Scenario: name, Variant: markup, Cluster: "virtual", Lock: markup,
			Expect: map[string]string{markup: markup}, Failure: markup}
	}
	skipped := row("b")
	skipped.Failure, skipped.Skipped = "", markup
	for _, name := range []string{"one", "<b>two"} {
		report := reports.New([]suite.Result{row(markup), skipped}, reports.Run{Version: markup, Go: markup,
			Options: suite.Options{Out: filepath.Join(dir, name), Cluster: markup, Lock: markup, Without: []string{markup}}})
		_, err := report.WriteFiles()
		require.NoError(t, err)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "going"), 0o755))
	progress := begin(t, reports.Run{Options: suite.Options{Out: filepath.Join(dir, "going"), Cluster: markup,
		Lock: markup}})
	defer progress.End()
	progress.Observe(row(markup))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "torn"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "torn", "results.json"), []byte(markup), 0o644))
	at := start(t, dir)
	for path, shown := range map[string]bool{
		"/": true, "/lab/flushall?variant=" + url.QueryEscape(markup): false,
		"/lab/flushall?ttl=" + url.QueryEscape(markup): true, "/lab/" + url.PathEscape(markup): true,
	} {
		_, _, body := get(t, at+path)
		require.Equal(t, shown, strings.Contains(body, "&lt;img"), path)
		require.NotContains(t, body, "<img", path)
		require.NotContains(t, body, "<b>", path)
		require.NotRegexp(t, `<script[^>]*>[^<]`, body, path)
	}
	_, body := post(t, at+"/lab/flushall",
		url.Values{"ttl": {markup}, "predict-mutual-exclusion": {markup}, "before-mutual-exclusion": {markup}})
	require.NotContains(t, body, "<img")
	_, body = post(t, at+"/lab/flushall", url.Values{"predict-mutual-exclusion": {markup},
		"before-mutual-exclusion": {markup}})
	require.NotContains(t, body, "<img")
}

// The lab comments on predictions and on changes of the verdict.
func TestLab_CommentsOnPredictions(t *testing.T) {
	at := start(t, t.TempDir()) + "/lab/restart-delay-too-short"
	for _, tt := range []struct {
		form url.Values
		want string
	}{
		{url.Values{"predict-mutual-exclusion": {"violated"}}, "You saw it coming."},
		{url.Values{"predict-mutual-exclusion": {"holds"}}, "You said holds. Better to be surprised here"},
		{url.Values{"predict-mutual-exclusion": {"unsure"}}, "Now you know"},
		{url.Values{"restart-delay": {"1.2"}, "before-mutual-exclusion": {"violated"}},
			"It was violated: your change made the difference."},
		{url.Values{"restart-delay": {"0.4"}, "before-mutual-exclusion": {"violated"}}, "As before."},
	} {
		status, body := post(t, at, tt.form)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, tt.want)
		require.Contains(t, body, `<figure class="timeline"`)
		require.Contains(t, body, "A restart delay protects only if it is longer")
	}
	status, body := post(t, at, url.Values{"restart-delay": {"77"}})
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, body, "is not a number from 0.05 to 2")
	status, body = post(t, at+"/boundary", url.Values{"control": {"restart-delay"}})
	require.Equal(t, http.StatusOK, status)
	require.Regexp(t, `mutual-exclusion: violated from 0.05 to 0\.\d+ TTL; holds from [01](\.\d+)? to 2 TTL`, body)
	status, _ = post(t, at+"/boundary", url.Values{"control": {"none"}})
	require.Equal(t, http.StatusBadRequest, status)
	status, _ = post(t, at, url.Values{"x": {strings.Repeat("y", maxForm)}})
	require.Equal(t, http.StatusBadRequest, status)
}

// The list shows the progress of a current run, and then its result.
func TestList_CurrentRun_ShowsProgress(t *testing.T) {
	dir := t.TempDir()
	at := start(t, dir)
	out := filepath.Join(dir, "out")
	p := begin(t, reports.Run{Planned: 2, Options: suite.Options{Out: out, Cluster: "virtual"}})
	_, _, body := get(t, at+"/")
	require.Contains(t, body, "0 of 2 trials")
	p.Observe(suite.Result{Scenario: "flushall"})
	_, _, body = get(t, at+"/")
	require.Contains(t, body, "1 of 2 trials")
	keepRun(t, out, "", "flushall")
	require.NoError(t, p.End())
	_, _, body = get(t, at+"/")
	require.Contains(t, body, `href="/files/out/report.html"`)
}

// A search counts schedules, and plans no trials.
func TestList_Search_HasNoTrials(t *testing.T) {
	dir := t.TempDir()
	p := begin(t, reports.Run{Options: suite.Options{Out: filepath.Join(dir, "out"), Cluster: "virtual"}})
	defer p.End()
	_, _, body := get(t, start(t, dir)+"/")
	require.Contains(t, body, `>running</span> <span class="quiet">a search</span>`)
	require.NotContains(t, body, "0 of 0")
}

func TestNew_MissingFolder_Fails(t *testing.T) {
	_, err := New(context.Background(), filepath.Join(t.TempDir(), "none"), suite.Run)
	require.ErrorContains(t, err, "cannot show the folder")
}
