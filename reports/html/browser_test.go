package html

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"lockproof/harness"
	"lockproof/reports"
)

// tab is a page in a browser, and what it said and asked for.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	errors   []string
	requests []string
}

// visit opens a report's page in Chromium, or skips the test where there is none.
func visit(t *testing.T, page string) *tab {
	t.Helper()
	browser := chromium()
	if browser == "" {
		t.Skip("no Chromium is installed (Debian: apt-get install chromium)")
	}
	file := filepath.Join(t.TempDir(), reports.PageFile)
	require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, url: "file://" + file}
	b.watch()
	still := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, still) // nothing moves under the mouse
	require.NoError(t, err)
	b.open("")
	return b
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// watch collects errors and requests from here on.
func (b *tab) watch() {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx)) // starts the browser
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.errors = append(b.errors, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		}
	}))
}

func (b *tab) open(fragment string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(b.url+fragment)))
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// text evaluates a script that gives text.
func (b *tab) text(script string) string {
	b.t.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+script+")"))
	require.NoError(b.t, err, script)
	return got
}

// eventually waits for a script to give a text.
func (b *tab) eventually(want, script string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.text(script) == want }, 10*time.Second, 20*time.Millisecond, "%s is %s", script, b.text(script))
}

// toPicture scrolls to the first picture, which is made ready only then.
func (b *tab) toPicture() {
	b.t.Helper()
	b.text(`document.querySelector(".timeline").scrollIntoView()`)
	b.eventually("false", `document.querySelector(".tools").hidden`)
	b.eventually("true", `document.querySelector(".chart").getAttribute("width") === document.querySelector(".plot").clientWidth + ""`)
}

func (b *tab) requireQuiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors)
	for _, url := range b.requests {
		require.True(b.t, strings.HasPrefix(url, b.url) || url == "about:blank", "the page asks for %s", url)
	}
}

func small(t *testing.T) string {
	report, catalogue := words{}.report(t)
	return written(t, report, catalogue)
}

const readout = `document.querySelector(".readout").textContent`

func TestBrowserStepsThroughEvents(t *testing.T) {
	b := visit(t, small(t))
	b.toPicture()
	b.do(chromedp.Focus(chromedp.CSS(".plot")), chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(t, b.text(readout), "1 of 12: event 1, 0.000 ms")
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(t, b.text(readout), `2 of 12: event 2, 5.000 ms · the-client · calls acquire the-key`)
	require.Contains(t, b.text(`document.querySelector(".story .current").textContent`), `the-client asks for "the-key"`)
	require.Equal(t, "1", b.text(`document.querySelector(".mark.current").dataset.number`))
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	require.Contains(t, b.text(readout), "1 of 12")
	b.do(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)), chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
	require.Contains(t, b.text(readout), "4 of 12: event 4", "from turn to turn: past what is none")
	b.do(chromedp.KeyEvent(kb.End))
	require.Contains(t, b.text(readout), "12 of 12")
	b.requireQuiet()
}

func TestBrowserZoomsAndSwitchesTheScale(t *testing.T) {
	b := visit(t, small(t))
	b.toPicture()
	const width = `document.querySelector(".chart").getAttribute("width")`
	const place = `document.querySelector(".timeline .mark.turning").getAttribute("transform")`
	before, at := b.text(width), b.text(place)
	b.do(chromedp.Click(chromedp.CSS(`[data-do="in"]`)))
	require.NotEqual(t, before, b.text(width))
	b.do(chromedp.Click(chromedp.CSS(`[data-do="fit"]`)))
	require.Equal(t, before, b.text(width))
	require.Equal(t, at, b.text(place))
	b.do(chromedp.Click(chromedp.CSS(`[data-do="scale"]`)))
	require.NotEqual(t, at, b.text(place), "true to scale, it is elsewhere")
	b.requireQuiet()
}

func TestBrowserSwitchesTheTheme(t *testing.T) {
	b := visit(t, small(t))
	const ground = `getComputedStyle(document.body).backgroundColor`
	b.do(chromedp.Click(chromedp.CSS(".theme")))
	require.Equal(t, "light", b.text(`document.documentElement.dataset.theme`))
	light := b.text(ground)
	b.do(chromedp.Click(chromedp.CSS(".theme")))
	require.Equal(t, "dark", b.text(`document.documentElement.dataset.theme`))
	require.NotEqual(t, light, b.text(ground))
	b.open("")
	require.Equal(t, "dark", b.text(`document.documentElement.dataset.theme`), "the choice is kept")
	b.requireQuiet()
}

func TestBrowserFollowsDeepLinks(t *testing.T) {
	b := visit(t, small(t))
	b.open("#the-scenario--the-variant-event-4")
	b.eventually("true", `document.querySelector("details.events").open`)
	require.Contains(t, b.text(readout), "event 4,")
	b.do(chromedp.Click(chromedp.CSS("#the-scenario--the-variant-mutual-exclusion-turn-3 .number")))
	b.eventually("3", `document.querySelector(".mark.current").dataset.number`)
	b.requireQuiet()
}

// Without JavaScript the page says as much, and shows no tool that would do
// nothing.
func TestBrowserWithoutJavaScript(t *testing.T) {
	b := visit(t, small(t))
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	b.open("")
	require.Equal(t, "0", b.text(`[...document.querySelectorAll("button, .filter, .keys")].filter((e) => e.offsetParent).length`))
	require.Contains(t, b.text(`document.querySelector(".story").innerText`), "From here on it was inevitable")
	require.Equal(t, "960", b.text(`document.querySelector(".chart").getBoundingClientRect().width`))
	b.requireQuiet()
}

// At the width of a telephone the page itself does not scroll sideways.
func TestBrowserFitsATelephone(t *testing.T) {
	b := visit(t, small(t))
	b.do(chromedp.EmulateViewport(390, 844))
	b.open("")
	require.Equal(t, "390", b.text(`document.documentElement.scrollWidth`))
}

// What axe would ask for: all that can be used has a name, pictures are named
// or hidden, tables have headers, headings skip no level.
func TestBrowserFindsNamesForEverything(t *testing.T) {
	b := visit(t, small(t))
	require.Equal(t, "", b.text(`[...document.querySelectorAll("button, a[href], input, [tabindex='0'], summary")]
		.filter((e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim() || (e.labels && e.labels.length)))
		.map((e) => e.outerHTML).join()`))
	require.Equal(t, "", b.text(`[...document.querySelectorAll("svg")]
		.filter((e) => !(e.closest("[aria-hidden=true]") || e.getAttribute("role") === "img" || e.closest("[role=group][aria-label]")))
		.map((e) => e.outerHTML.slice(0, 200)).join()`))
	require.Equal(t, "", b.text(`[...document.querySelectorAll("[aria-labelledby]")]
		.filter((e) => !document.getElementById(e.getAttribute("aria-labelledby"))).map((e) => e.outerHTML.slice(0, 200)).join()`))
	require.Equal(t, "true", b.text(`[...document.querySelectorAll("table")].every((e) => e.querySelector("th[scope=col]"))`))
	require.Equal(t, "true", b.text(`[...document.querySelectorAll("h1, h2, h3, h4")].map((e) => +e.tagName[1]).every((n, i, all) => i ? n - all[i - 1] <= 1 : n === 1)`))
}

// A history of 20,000 events opens in under two seconds.
func TestBrowserOpensLongHistoriesFast(t *testing.T) {
	b := visit(t, written(t, crowded(t, 20_000), nil))
	took := b.text(`performance.getEntriesByType("navigation")[0].loadEventEnd`)
	var ms float64
	_, err := fmt.Sscan(took, &ms)
	require.NoError(t, err)
	require.Less(t, ms, 2000.0)
	b.requireQuiet()
}

// The rates of several trials are drawn with their intervals.
func TestBrowserShowsRates(t *testing.T) {
	report, catalogue := words{}.report(t)
	again := report.Rows[0].Trials[0]
	again.Trial, again.Results = 1, nil
	both := reports.New([]harness.Trial{report.Rows[0].Trials[0], again}, report.Run)
	b := visit(t, written(t, both, catalogue))
	require.Contains(t, b.text(`document.querySelector(".rates").innerText`), "1 of 1, at least")
	b.requireQuiet()
}
