package html

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/browser"
	"example.org/lockproof/reports"
)

// scrollToPicture scrolls to the first picture. The page lays a picture out only then.
func scrollToPicture(b *browser.Tab) {
	b.Text(`document.querySelector(".timeline").scrollIntoView()`)
	b.Eventually("false", `document.querySelector(".tools").hidden`)
	b.Eventually("true", `document.querySelector(".chart").getAttribute("width") === `+
		`document.querySelector(".plot").clientWidth + ""`)
}

// visitSmall opens a small page in the folder of its pictures.
func visitSmall(t *testing.T) *browser.Tab {
	report, catalogue := words{}.report(t)
	file := filepath.Join(report.Options.Out, reports.PageFile)
	require.NoError(t, os.WriteFile(file, []byte(written(t, report, catalogue)), 0o644))
	b := browser.Open(t, "file://"+file)
	b.Folder = report.Options.Out
	return b
}

const readout = `document.querySelector(".readout").textContent`

func TestBrowser_ArrowKeys_StepThroughTheStory(t *testing.T) {
	b := visitSmall(t)
	scrollToPicture(b)
	b.Do(chromedp.Focus(chromedp.CSS(".plot")), chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(t, b.Text(readout), `Event 1, 5.000 ms: the-client begins to acquire "the-key"`)
	require.Contains(t, b.Text(`document.querySelector(".story .current").textContent`),
		`the-client begins to acquire "the-key"`)
	require.Equal(t, "1", b.Text(`document.querySelector(".mark.current").dataset.number`))
	b.Press(kb.ArrowRight)
	require.Contains(t, b.Text(readout), "Event 2, ")
	b.Press(kb.ArrowLeft)
	require.Contains(t, b.Text(readout), "Event 1, ")
	b.Press(kb.End, kb.ArrowRight)
	last := b.Text(`[...document.querySelectorAll(".mark")].filter((m) => m.closest(".timeline") === ` +
		`document.querySelector(".timeline")).length`)
	require.Contains(t, b.Text(readout), "Event "+last+", ")
}

// The keys n and p move between unexpected results.
func TestBrowser_KeysNAndP_MoveBetweenFindings(t *testing.T) {
	b := visitSmall(t)
	const at = `document.activeElement.closest("article") && document.activeElement.closest("article").id`
	all := b.Text(`[...document.querySelectorAll("article.finding")].map((a) => a.id).join()`)
	require.Equal(t, "the-scenario--the-variant,the-scenario--no-file,broken,bare--without-the-rule", all)
	b.Press("n")
	require.Equal(t, "the-scenario--the-variant", b.Text(at))
	b.Press("n")
	require.Equal(t, "the-scenario--no-file", b.Text(at))
	b.Press("p", "p")
	require.Equal(t, "the-scenario--the-variant", b.Text(at), "there is none before it")
	b.RequireAccessible()
}

func TestBrowser_ExpectedResultOpened_LoadsItsPicture(t *testing.T) {
	b := visitSmall(t)
	const drawn = `document.querySelector("#fine .healthy").naturalWidth > 0`
	require.Equal(t, "false", b.Text(drawn))
	b.Text(`document.querySelector("#scenario-fine summary").click()`)
	b.Text(`document.querySelector("#fine .healthy").scrollIntoView()`)
	b.Eventually("true", drawn)
}

func TestBrowser_ZoomAndScaleButtons_MoveMarks(t *testing.T) {
	b := visitSmall(t)
	scrollToPicture(b)
	const width = `document.querySelector(".chart").getAttribute("width")`
	const place = `document.querySelector(".timeline .mark.turning").getAttribute("transform")`
	before, at := b.Text(width), b.Text(place)
	b.Do(chromedp.Click(chromedp.CSS(`[data-do="in"]`)))
	require.NotEqual(t, before, b.Text(width))
	b.Do(chromedp.Click(chromedp.CSS(`[data-do="fit"]`)))
	require.Equal(t, before, b.Text(width))
	require.Equal(t, at, b.Text(place))
	b.Do(chromedp.Click(chromedp.CSS(`[data-do="scale"]`)))
	require.NotEqual(t, at, b.Text(place), "true to scale, it is elsewhere")
}

func TestBrowser_ThemeButton_SwitchesAndIsStored(t *testing.T) {
	b := visitSmall(t)
	const ground = `getComputedStyle(document.body).backgroundColor`
	b.Do(chromedp.Click(chromedp.CSS(".theme")))
	require.Equal(t, "light", b.Text(`document.documentElement.dataset.theme`))
	light := b.Text(ground)
	b.Do(chromedp.Click(chromedp.CSS(".theme")))
	require.Equal(t, "dark", b.Text(`document.documentElement.dataset.theme`))
	require.NotEqual(t, light, b.Text(ground))
	b.Visit("")
	require.Equal(t, "dark", b.Text(`document.documentElement.dataset.theme`), "the choice is kept")
}

func TestBrowser_DeepLink_SelectsTheTurn(t *testing.T) {
	b := visitSmall(t)
	b.Visit("#the-scenario--the-variant-mutual-exclusion-turn-2")
	b.Eventually("2", `document.querySelector(".mark.current").dataset.number`)
	require.Contains(t, b.Text(readout), "Event 2, ")
	b.Do(chromedp.Click(chromedp.CSS("#the-scenario--the-variant-mutual-exclusion-turn-3 .number")))
	b.Eventually("3", `document.querySelector(".mark.current").dataset.number`)
}

func TestBrowser_NoJavaScript_WholeStoryAndNoTools(t *testing.T) {
	b := visitSmall(t)
	b.Scripts(false)
	b.Visit("")
	require.Equal(t, "0", b.Text(`[...document.querySelectorAll("button, .filter, .keys")].filter((e) => `+
		`e.offsetParent).length`))
	require.Contains(t, b.Text(`document.querySelector(".story").innerText`), "The point of no return")
	require.Equal(t, "960", b.Text(`document.querySelector(".chart").getBoundingClientRect().width`))
}

func TestBrowser_TelephoneWidth_NoSidewaysScrolling(t *testing.T) {
	b := visitSmall(t)
	b.Size(390, 844)
	b.Visit("")
	require.Equal(t, "390", b.Text(`document.documentElement.scrollWidth`))
}

// Collapsed and expanded, in both themes and at telephone width.
func TestBrowser_PageIsAccessible(t *testing.T) {
	b := visitSmall(t)
	for _, scheme := range []string{"light", "dark"} {
		b.Media(map[string]string{"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"})
		for _, width := range []int64{1440, 390} {
			b.Size(width, 900)
			b.Visit("")
			b.RequireAccessible()
			b.Text(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
			b.Text(`document.querySelector(".timeline").scrollIntoView()`)
			b.Eventually("false", `document.querySelector(".tools").hidden`)
			b.RequireAccessible()
		}
	}
}

func TestBrowser_Print_ShowsCollapsedSections(t *testing.T) {
	b := visitSmall(t)
	const drawn = `[...document.querySelectorAll("details > :not(summary, .keys)")].filter((e) => ` +
		`!e.closest("[hidden]")).every((e) => e.checkVisibility())`
	require.Equal(t, "false", b.Text(drawn))
	b.Media(map[string]string{"type": "print"})
	b.Eventually("true", drawn)
}
