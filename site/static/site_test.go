package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/lab"
	"example.org/lockproof/scenarios"
	"example.org/lockproof/site"
)

// built builds the site once for all tests: it takes as long as they do.
var built = sync.OnceValues(func() (made, error) {
	e, err := buildEngine()
	if err != nil {
		return made{}, err
	}
	all, err := makeAll(context.Background(), e)
	if err != nil {
		return made{}, err
	}
	dir, err := os.MkdirTemp("", "lockproof-site-")
	if err != nil {
		return made{}, err
	}
	dir = filepath.Join(dir, "a site")
	return made{dir, e}, write(dir, all)
})

// links matches addresses that a page links to or loads.
var links = regexp.MustCompile(`(?:href|src)="([^":]*)"`)

type made struct {
	dir    string
	engine *engine
}

func TestMain(m *testing.M) {
	code := m.Run()
	if !testing.Short() {
		if s, err := built(); err == nil {
			_ = os.RemoveAll(filepath.Dir(s.dir))
		}
	}
	os.Exit(code)
}

// theSite skips short tests: building the site takes a while.
func theSite(t testing.TB) made {
	t.Helper()
	needs.Long(t, "it builds the engine as WebAssembly")
	s, err := built()
	require.NoError(t, err)
	return s
}

// maxBytes bounds the gzipped engine: telephones load it.
const maxBytes = 7_000_000

func TestEngine_SizeIsBounded(t *testing.T) {
	require.LessOrEqual(t, len(theSite(t).engine.module), maxBytes)
}

type request struct {
	Path   string `json:"path"`
	Form   string `json:"form"`
	Posted bool   `json:"posted"`
}

type response struct {
	Status int    `json:"status"`
	Text   string `json:"text"`
}

// runInNode sends requests to the engine in Node.
func runInNode(t *testing.T, e *engine, all []request) []response {
	t.Helper()
	node, err := exec.LookPath("node")
	needs.Check(t, needs.Node, err)
	dir := t.TempDir()
	module, worker := filepath.Join(dir, "module"), filepath.Join(dir, "worker.js")
	require.NoError(t, os.WriteFile(module, e.module, 0o644))
	require.NoError(t, os.WriteFile(worker, e.worker, 0o644))
	var in, out, trouble bytes.Buffer
	for _, a := range all {
		require.NoError(t, json.NewEncoder(&in).Encode(a))
	}
	cmd := exec.Command(node, filepath.Join("testdata", "ask.mjs"), module, worker)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &trouble
	require.NoError(t, cmd.Run(), trouble.String())
	var answers []response
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var a response
		require.NoError(t, decoder.Decode(&a))
		answers = append(answers, a)
	}
	require.Len(t, answers, len(all))
	return answers
}

// The engine gives the same history as lockproof run, byte for byte, for the whole catalogue.
func TestEngine_Histories_EqualThoseOfTheCommandLine(t *testing.T) {
	s := theSite(t)
	all, err := lab.Catalogue()
	require.NoError(t, err)
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Out: t.TempDir()}
	jobs, err := o.Jobs(all)
	require.NoError(t, err)
	require.Greater(t, len(jobs), 90)
	var requests []request
	for _, j := range jobs {
		form := url.Values{"variant": {j.Variant}}.Encode()
		requests = append(requests, request{Path: "lab/" + j.Scenario.Name + ".history.jsonl", Form: form})
	}
	answers := runInNode(t, s.engine, requests)
	trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
	require.NoError(t, err)
	compared := 0
	for i, j := range jobs {
		require.Equal(t, 200, answers[i].Status, "%s: %s", j.Name(), answers[i].Text)
		if trials[i].History == "" { // as expected, so not kept
			continue
		}
		file, err := os.ReadFile(filepath.Join(o.Out, trials[i].History))
		require.NoError(t, err)
		compared++
		if string(file) != answers[i].Text {
			assert.Fail(t, "the engine's history differs from the program's", "%s: %s", j.Name(),
				difference(string(file), answers[i].Text))
		}
	}
	require.Greater(t, compared, 90)
}

// difference returns the first line in which two texts differ.
func difference(a, b string) string {
	theirs := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(theirs) || line != theirs[i] {
			other := "nothing"
			if i < len(theirs) {
				other = theirs[i]
			}
			return line + "\nand\n" + other
		}
	}
	return "it is longer"
}

// The engine makes the same pages as a server: no template calls a method, which the engine would not find.
func TestEngine_Pages_EqualThoseOfAServer(t *testing.T) {
	s := theSite(t)
	requests := []request{
		{"lab/late-release.html", "rule=FreshToken&seed=3", false},
		{"lab/late-release.html", "rule=FreshToken&predict-mutual-exclusion=holds", true},
		{"lab/late-release.html", "lock=redsync", true},
		{"lab/client-pause.html", "before-protected-data=holds", true},
		{"lab/restart-delay-too-short.html/boundary", "control=restart-delay", true},
		{"lab/flushall.html", "ttl=x", true},
		{"lab/none.html", "", false},
		{"exercises/token.html", "token=call&compare=script", true},
		{"exercises/token.html", "token=attempt&compare=script&tried=125", true},
		{"exercises/validity.html", "validity=ttl - elapsd&clock=wall", true},
	}
	native := site.New(suite.Run, false)
	for i, got := range runInNode(t, s.engine, requests) {
		form, err := url.ParseQuery(requests[i].Form)
		require.NoError(t, err)
		want := native.Answer(context.Background(), site.Request{Path: requests[i].Path, Form: form,
			Posted: requests[i].Posted})
		require.Equal(t, want.Status, got.Status, requests[i].Path)
		require.True(t, string(want.Body) == got.Text, "%s: %s", requests[i].Path, difference(string(want.Body), got.Text))
	}
}

// Every page of the catalogue exists, and every link has a target.
func TestSite_EveryLink_HasATarget(t *testing.T) {
	s := theSite(t)
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	pages := 0
	require.NoError(t, filepath.WalkDir(s.dir, func(file string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".html" {
			return err
		}
		pages++
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, shared := range []string{`<title>`, `<meta name="description" content="`,
			`<meta property="og:image" content="`} {
			require.Contains(t, string(text), shared, "a link to %s is shared", file)
		}
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			to, _, _ := strings.Cut(m[1], "?")
			to, _, _ = strings.Cut(to, "#")
			if to == "" || strings.HasSuffix(to, ".history.jsonl") {
				continue
			}
			require.FileExists(t, filepath.Join(filepath.Dir(file), filepath.FromSlash(to)), "%s leads to it", file)
		}
		return nil
	}))
	require.Greater(t, pages, 100)
}
