package html

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/golden"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

// The golden file omits the style and the script, which are files of this folder.
func TestPage_MatchesGoldenFile(t *testing.T) {
	report, catalogue := words{}.report(t)
	got := written(t, report, catalogue)
	for _, file := range []string{"colours.css", "timeline.css", "page.css", "page.js"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, got, string(text), "the page holds the whole of %s", file)
		got = strings.ReplaceAll(got, string(text), "("+file+")")
	}
	got = regexp.MustCompile(`sha256-.*?&#39;`).ReplaceAllString(got, "sha256-(page.js)&#39;")
	got = regexp.MustCompile(`cannot read the history [^:]*:`).ReplaceAllString(got, "cannot read the history (file):")
	require.Contains(t, got, "</html>")
	golden.Require(t, filepath.Join("testdata", "page.golden.html"), got)
}

// No text of a file, a lock or a server becomes markup.
func TestPage_MarkupInAField_IsEscaped(t *testing.T) {
	const markup = `<img src=x onerror=alert(1)>"'</script>`
	const text = `&lt;img src=x onerror=alert(1)&gt;&#34;&#39;&lt;/script&gt;`
	fields := []string{
		"scenario", "variant", "title", "lesson", "source", "cluster", "lock", "rule", "property", "failure",
		"skipped scenario", "skipped", "version", "go", "chosen lock", "what", "broke", "why", "file",
		"client", "node", "fault kind", "fault target", "setting", "value", "base",
	}
	for _, field := range fields {
		t.Run(field, func(t *testing.T) {
			report, catalogue := words{field: markup}.report(t)
			page := written(t, report, catalogue)
			require.Contains(t, page, text, "the field is on the page")
			require.NotContains(t, page, "<img src=x")
			require.Equal(t, 1, strings.Count(page, "</script>"), "the page's own")
		})
	}
}

// A history's name is a path below the page.
func TestPage_HistoryOutsideTheFolder_NoLink(t *testing.T) {
	for _, name := range []string{"javascript:alert(1)", "https://example.org/", "//example.org/"} {
		report, catalogue := words{"file": name}.report(t)
		page := written(t, report, catalogue)
		require.NotContains(t, page, `href="`+name)
		require.NotContains(t, page, `href="/`)
	}
}

var (
	ids   = regexp.MustCompile(`\sid="([^"]*)"`)
	hrefs = regexp.MustCompile(`href="#([^"]*)"`)
)

// requireWhole checks that ids are unique and that every link within the page has a target.
func requireWhole(t *testing.T, page string) {
	t.Helper()
	known := map[string]bool{}
	for _, id := range ids.FindAllStringSubmatch(page, -1) {
		require.False(t, known[id[1]], "the id %s is there twice", id[1])
		known[id[1]] = true
	}
	for _, href := range hrefs.FindAllStringSubmatch(page, -1) {
		require.True(t, known[href[1]], "the link to #%s has no target", href[1])
	}
}

// The catalogue's page is small, requests nothing from outside, and has a picture and a story of each violation.
func TestPage_Catalogue_SmallAndComplete(t *testing.T) {
	all, err := scenarios.Select(nil)
	require.NoError(t, err)
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Parallel: 2, Out: t.TempDir()}
	jobs, err := o.Jobs(all)
	require.NoError(t, err)
	trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
	require.NoError(t, err)
	report := reports.New(trials, reports.Run{Options: o, Planned: len(jobs)})

	var page bytes.Buffer
	require.NoError(t, Write(&page, report, all))
	require.Less(t, page.Len(), 400_000)
	requireWhole(t, page.String())
	require.NotRegexp(t, `(srcset|action)="|(src|href)="(https?:)?//|@import|url\((?:["']|http)`, page.String())

	violated := 0
	for _, row := range report.Rows {
		trial, shows := row.FirstViolated()
		if !shows {
			continue
		}
		id := suite.Slug(row.Scenario)
		if row.Variant != "" {
			id += "--" + suite.Slug(row.Variant)
		}
		require.Contains(t, page.String(), `<article id="`+id+`"`)
		for _, r := range trial.Results {
			if r.Verdict == history.Violated {
				violated++
				require.FileExists(t, filepath.Join(o.Out, filepath.Dir(trial.History), reports.TimelineFile))
			}
		}
	}
	require.Greater(t, violated, 30)
	for _, s := range all {
		require.LessOrEqual(t, len(regexp.MustCompile(`[.!?](\s|$)`).FindAllString(s.Lesson, -1)), 3,
			"%s: the lesson has three sentences or fewer", s.Name)
		require.NotEmpty(t, s.Source, s.Name)
	}
}

func TestPage_LongHistory_IsCapped(t *testing.T) {
	page := written(t, crowded(t, 20_000), nil)
	require.Less(t, len(page), 300_000)
	require.LessOrEqual(t, strings.Count(page, `data-a="`), 3000)
	requireWhole(t, page)
}

func TestPage_UnwritableTimeline_ShowsReason(t *testing.T) {
	report, catalogue := words{}.report(t)
	require.NoError(t, os.MkdirAll(filepath.Join(report.Options.Out, "trials/fine/000", reports.TimelineFile), 0o755))
	require.Regexp(t, "No picture: cannot write .*timeline.svg", written(t, report, catalogue))
}

// A limit of a lock class is yellow and no finding; a difference is red.
func TestArticle_Limit_IsNoFinding(t *testing.T) {
	for standing, want := range map[suite.Standing]reports.Tone{suite.AsExpected: reports.Good,
		suite.LimitOfClass: reports.Doubt, suite.Inconclusive: reports.Doubt, suite.Differs: reports.Bad} {
		require.Equal(t, want, reports.StandingTone(standing))
	}
	require.False(t, (&article{Row: &reports.Row{Standing: suite.LimitOfClass}}).IsFinding())
	require.True(t, (&article{Row: &reports.Row{Standing: suite.Differs}}).IsFinding())
}

// texts parses an SVG file strictly, as XML, and returns its element counts and its text.
func texts(t *testing.T, svg []byte) (names map[string]int, content string) {
	t.Helper()
	names = map[string]int{}
	var text strings.Builder
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names, text.String()
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			names[token.Name.Local]++
		case xml.CharData:
			text.Write(token)
		}
	}
}

// The timeline of a violated trial is a complete SVG file: it contains the story, and loads and runs nothing.
func TestTimelineFile_StandsAlone(t *testing.T) {
	const markup = `<script>alert("1")</script>&amp;`
	for _, w := range []words{{}, {"client": markup, "node": markup, "what": markup, "fault kind": markup}} {
		report, catalogue := w.report(t)
		require.NoError(t, Write(io.Discard, report, catalogue))
		svg, err := os.ReadFile(filepath.Join(report.Options.Out, "trials", "it", "000", reports.TimelineFile))
		require.NoError(t, err)
		names, content := texts(t, svg)
		require.Zero(t, names["script"])
		require.Positive(t, names["pattern"])
		require.Contains(t, content, w.word("what"))
		require.Contains(t, content, w.word("client")+" begins to acquire")
		require.Contains(t, content, "10.000 ms")
		require.NotRegexp(t, `@import|url\([^#]|(?:href|src)="[^#]`, string(svg))
	}
}

// Later times are never further left, and the ends map to the ends.
func TestScale_KeepsTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		until := rapid.Int64Range(1, 1e12).Draw(t, "until")
		times := rapid.SliceOfN(rapid.Int64Range(0, until), 0, 40)
		s := newScale(0, until, times.Draw(t, "edges"), times.Draw(t, "turns"))
		require.Equal(t, margin, s.x(0))
		require.InDelta(t, plotWidth-margin, s.x(until), 0.2)
		a, b := rapid.Int64Range(0, until).Draw(t, "a"), rapid.Int64Range(0, until).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		require.LessOrEqual(t, s.x(a), s.x(b))
	})
}

func TestScale_FewTurns_IsEven(t *testing.T) {
	s := newScale(0, 1000, []int64{3, 4}, []int64{100, 500, 900})
	require.True(t, s.even)
	require.Len(t, s.knots, 2)
	require.InDelta(t, plotWidth/2, s.x(500), 0.1)
}

// Microseconds stay distinct beside a second.
func TestScale_CrowdedTurns_ShortensQuietStretches(t *testing.T) {
	turns := []int64{50_000, 1_574_000, 1_624_000, 1_674_000, 1_724_000, 3_315_000}
	s := newScale(0, 988_050_000, nil, turns)
	require.False(t, s.even)
	for i := 1; i < len(turns); i++ {
		require.GreaterOrEqual(t, s.x(turns[i])-s.x(turns[i-1]), float64(roomy))
	}
}
