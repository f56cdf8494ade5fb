package serve

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/browser"
	"example.org/lockproof/reports"
)

const (
	verdict   = `(document.querySelector("#outcome [data-verdict]") || {dataset: {}}).dataset.verdict`
	folded    = `document.getElementById("outcome").classList.contains("unfolding")`
	sentences = `document.querySelectorAll("#outcome .story li:not([hidden])").length`
)

// shown is a script that reports whether an element is visible. checkVisibility alone ignores display:none within a
// picture.
func shown(selector string) string {
	return `((e) => Boolean(e) && e.checkVisibility({ visibilityProperty: true }) && getComputedStyle(e).display !== ` +
		`"none")` +
		`(document.querySelector('` + selector + `'))`
}

func TestBrowser_List_LeadsToARun(t *testing.T) {
	dir := t.TempDir()
	b := browser.Open(t, start(t, dir)+"/")
	keepTwoRuns(t, dir)
	b.Visit("")
	b.RequireAccessible()
	b.Do(chromedp.Click(chromedp.CSS(`a[href*="mine"]`)))
	b.Eventually("Lockproof: as expected", `document.title`)
	b.Eventually("false", `document.querySelector(".theme").hidden`)
	require.Equal(t, "null", b.Text(`self.origin`), "a run's own page is nobody's")
}

func TestBrowser_List_UpdatesItself(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	p := begin(t, reports.Run{Planned: 4, Options: suite.Options{Out: out, Cluster: "virtual"}})
	b := browser.Open(t, start(t, dir)+"/")
	const value = `document.querySelector("progress").value`
	require.Equal(t, "0", b.Text(value))
	p.Observe(suite.Result{Scenario: "flushall"})
	b.Eventually("1", value)
	b.RequireAccessible()
	keepRun(t, out, "", "flushall")
	require.NoError(t, p.End())
	b.Eventually("true", shown(`.badge.good`))
}

// Prediction, story, result: nothing shows the verdict before the end.
func TestBrowser_Lab_HidesTheVerdictUntilTheEnd(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/restart-delay-too-short")
	b.Do(chromedp.Click(chromedp.CSS(`#experiment .first`)))
	require.Equal(t, "undefined", b.Text(verdict), "a prediction is asked for first")
	b.Do(chromedp.Click(chromedp.CSS(`[value=holds]`)), chromedp.Click(chromedp.CSS(`#experiment .first`)))
	b.Eventually("true", folded)
	for _, secret := range []string{".reveal", "#outcome .what", "#outcome .blame", ".broken-band", ".lane-name.broken",
		".turning-line"} {
		require.Equal(t, "false", b.Text(shown(secret)), secret)
	}
	b.Text(`document.querySelector("#outcome .plot").focus()`)
	const turn = `parseInt(document.querySelector(".readout").textContent.slice(5)) || 0`
	at, err := strconv.Atoi(b.Text(turn))
	require.NoError(t, err)
	b.Press(kb.ArrowRight, kb.ArrowRight)
	require.Equal(t, strconv.Itoa(at+2), b.Text(turn), "the keyboard goes on, too")
	before := b.Text(sentences)
	b.Do(chromedp.Click(chromedp.CSS(`[data-play=on]`)), chromedp.Click(chromedp.CSS(`[data-play=on]`)))
	require.Greater(t, b.Text(sentences), before)
	require.Equal(t, "true", b.Text(folded))
	b.RequireAccessible()
	b.Text(`document.querySelector("[data-play=speed]").value = "4"`)
	b.Do(chromedp.Click(chromedp.CSS(`[data-play=end]`)))
	require.Equal(t, "false", b.Text(folded))
	require.Equal(t, "violated", b.Text(verdict))
	require.Equal(t, "true", b.Text(shown(".broken-band")))
	require.Contains(t, b.Text(`document.querySelector(".remark").textContent`), "You said holds.")
	require.Contains(t, b.Text(`document.querySelector("#outcome .lesson").textContent`), "A restart delay protects only")
	b.RequireAccessible()
}

// A result with two violations has two complete pictures. With reduced motion the story begins at once.
func TestBrowser_Lab_TwoViolations_TwoPictures(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/single-instance-down")
	beginUnsure(b)
	require.Equal(t, "What happens", b.Text(`document.activeElement.textContent`), "the focus goes to what came of it")
	require.NotEqual(t, "0", b.Text(sentences))
	require.Contains(t, b.Text(`document.querySelector("#outcome .readout").textContent`), "Event 1, ", "it has begun")
	require.Equal(t, "true", b.Text(`document.querySelector("#outcome .tools .player") !== null`), "there is one toolbar")
	b.Do(chromedp.Click(chromedp.CSS(`[data-play=end]`)))
	require.Equal(t, "2 2", b.Text(`[...document.querySelectorAll("#outcome .timeline")].length + " " +
		[...document.querySelectorAll("#outcome .timeline .tools")].filter((t) => !t.hidden).length`))
	require.Equal(t, b.Text(`document.querySelector("#outcome .chart").getAttribute("width")`),
		b.Text(`[...document.querySelectorAll("#outcome .chart")].pop().getAttribute("width")`))
}

// Play starts and continues by itself if motion is allowed.
func TestBrowser_Lab_PlaysToTheEnd(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/flushall")
	const live = `document.querySelector("#outcome .readout").getAttribute("aria-live")`
	for _, motion := range []string{"reduce", "no-preference"} {
		b.Media(map[string]string{"prefers-reduced-motion": motion})
		b.Visit("/lab/flushall")
		beginUnsure(b)
		if motion != "reduce" { // four events a second are too many for a screen reader
			b.Eventually("off", live)
		}
		b.Text(`(() => { const s = document.querySelector(".player select"); s.add(new Option("fast", "40")); s.value = ` +
			`"40"; })()`)
		if motion == "reduce" { // then it waits for Play
			b.Do(chromedp.Click(chromedp.CSS(`[data-play=play]`)))
		}
		b.Eventually("false", folded)
		require.Equal(t, "polite", b.Text(live))
		require.Equal(t, "Play", b.Text(`document.querySelector("[data-play=play]").textContent`))
	}
}

// The verdict changes at once when the delay passes the TTL.
func TestBrowser_Lab_ChangedControl_ChangesVerdict(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/restart-delay-too-short")
	b.Do(chromedp.Click(chromedp.CSS(`[value=violated]`)), chromedp.Click(chromedp.CSS(`#experiment .first`)))
	b.Eventually("violated", verdict)
	set := func(to string) {
		b.Text(`(() => { const n = document.getElementById("restart-delay"); n.value = "` + to +
			`"; n.dispatchEvent(new Event("input", { bubbles: true })); })()`)
	}
	set("1.2")
	b.Eventually("holds", verdict)
	require.Contains(t, b.Text(`document.querySelector(".remark").textContent`),
		"It was violated: your change made the difference.")
	require.Equal(t, "false", b.Text(folded), "there is nothing to wait for")
	require.Contains(t, b.Text(`document.querySelector(".steps").textContent`), "1.2 ttl")
	set("0.3")
	b.Eventually("violated", verdict)
	set("99")
	b.Eventually("false", `document.getElementById("restart-delay").checkValidity()`)
	set("0.3")
	b.Do(chromedp.Click(chromedp.CSS(`#outcome [value=restart-delay]`)))
	b.Eventually("true", shown("#boundary svg"))
	require.Contains(t, b.Text(`document.querySelector("#boundary figcaption").textContent`), "violated from 0.05 to")
	b.RequireAccessible()
}

func TestBrowser_Lab_NoJavaScript_ShowsVerdictAndStory(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/client-pause")
	b.Scripts(false)
	b.Visit("")
	require.Equal(t, "0", b.Text(
		`[...document.querySelectorAll(".player, .at-once, [type=range]")].filter((e) => e.checkVisibility()).length`))
	b.Do(chromedp.Click(chromedp.CSS(`[name="predict-mutual-exclusion"][value=holds]`)),
		chromedp.Click(chromedp.CSS(`[name="predict-protected-data"][value=holds]`)),
		chromedp.Click(chromedp.CSS(`#experiment .first`)))
	b.Eventually("holds violated", `[...document.querySelectorAll("#outcome [data-verdict]")].map((e) => `+
		`e.dataset.verdict).join(" ")`)
	require.Contains(t, b.Text(`document.querySelector("#outcome .story").innerText`), "c1 is paused")
}

// Every kind of page in both themes, at both widths.
func TestBrowser_PagesAreAccessible(t *testing.T) {
	dir := t.TempDir()
	b := browser.Open(t, start(t, dir)+"/")
	keepTwoRuns(t, dir)
	for _, scheme := range []string{"light", "dark"} {
		b.Media(map[string]string{"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"})
		for _, width := range []int64{1440, 390} {
			b.Size(width, 900)
			for _, page := range []string{"/", "/lab", "/lab/client-pause", "/lab/partition-during-contention?ttl=x"} {
				b.Visit(page)
				b.RequireAccessible()
				require.LessOrEqual(t, b.Text(`document.documentElement.scrollWidth - innerWidth`), "0", "%s scrolls sideways",
					page)
			}
		}
	}
	b.RequireErrors("a status of 422")
}

// beginUnsure runs a tab's experiment with unsure predictions; the result stays hidden.
func beginUnsure(b *browser.Tab) {
	b.Text(`document.querySelectorAll("[value=unsure]").forEach((r) => { r.checked = true; })`)
	b.Do(chromedp.Click(chromedp.CSS(`#experiment .first`)))
	b.Eventually("true", folded)
}

// runUnsure also reveals the result.
func runUnsure(b *browser.Tab) {
	beginUnsure(b)
	b.Do(chromedp.Click(chromedp.CSS(`[data-play=end]`)))
	b.Eventually("false", folded)
}

// On a telephone the violation is in view, and the final texts do not move the picture.
func TestBrowser_Telephone_ShowsTheViolation(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/client-pause")
	b.Size(375, 812)
	require.Equal(t, "true", b.Text(`(([logo, links]) => logo.width >= 22 && logo.right <= links.x)(
		[".brand", "nav"].map((name) => document.querySelector(name).getBoundingClientRect()))`),
		"the logo is beside the links")
	beginUnsure(b)
	b.Text(`scrollTo(0, 0)`)
	const top = `Math.round(document.querySelector("#outcome .picture").getBoundingClientRect().y)`
	before := b.Text(top)
	b.Text(`document.querySelector("[data-play=end]").click()`)
	b.Eventually("false", folded)
	require.Equal(t, before, b.Text(top))
	require.Contains(t, b.Text(`document.querySelector("#outcome .readout").textContent`), "c2's c2.1 is lost",
		"the caption is that of the end")
	require.Equal(t, "true", b.Text(`document.querySelector(".broken-band").getBoundingClientRect().bottom < 812`))
	require.Equal(t, "c1 slept through the end of its lease, woke, and overwrote c2's update.",
		b.Text(`document.querySelector("#outcome .what").textContent.trim()`))
	require.Equal(t, "1", b.Text(`document.querySelectorAll("#outcome .late").length`), "an arrow leads to the late write")
	b.RequireAccessible()
	const lane = `document.querySelector("#outcome .bar.paused text").textContent`
	require.Equal(t, "c1 holds, asleep", b.Text(lane))
	b.Size(1280, 900)
	b.Eventually("true", `document.querySelector("#outcome .bar.paused text").getBoundingClientRect().width > 0`)
	require.Equal(t, "c1 holds, asleep", b.Text(lane))
	require.Equal(t, "true", b.Text(`document.querySelector("#outcome .told").getBoundingClientRect().bottom < 900`),
		"all is on one screen")
}

// A client or node chosen in the picture by keyboard gets a fault as a new step. The address and the file contain it.
func TestBrowser_Lab_AddFaultFromThePicture(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/client-pause")
	runUnsure(b)
	b.Text(`[...document.querySelectorAll(".lane-name[role=button]")].find((n) => n.getAttribute("aria-label") === ` +
		`"Break n3").focus()`)
	b.Press(kb.Enter)
	require.Equal(t, "What happens", b.Text(`document.activeElement.getAttribute("aria-label")`))
	require.Equal(t, "n3", b.Text(`document.querySelector("#break select").value`))
	b.Text(`document.activeElement.value = "clock"`)
	b.Do(chromedp.Click(chromedp.CSS(`#break button`)))
	b.Eventually("?fault=1+clock+n3", `location.search`)
	require.Equal(t, "clock n3, before: c1 acquires k1",
		b.Text(`document.querySelector("[name=fault]").parentNode.textContent.trim()`))
	b.RequireAccessible()
	runUnsure(b)
	b.Text(`fetch([...document.querySelectorAll("a.record")][0].href).then((a) => a.text()).then((x) => { self.file = ` +
		`x; }), ""`)
	b.Eventually("true", `self.file.includes("  - clock: n3\n    jump: 1 ttl\n  - acquire: c1")`)
	b.Do(chromedp.Click(chromedp.CSS(`[name=fault]`)))
	b.Eventually("", `location.search`)
}
