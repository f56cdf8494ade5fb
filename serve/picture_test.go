package serve

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/browser"
)

// beginUnsure runs the experiment that a tab shows; what came of it is folded.
func beginUnsure(b *browser.Tab) {
	b.Text(`document.querySelectorAll("[value=unsure]").forEach((r) => { r.checked = true; })`)
	b.Do(chromedp.Click(chromedp.CSS(`#experiment .first`)))
	b.Eventually("true", folded)
}

// runUnsure shows all of it.
func runUnsure(b *browser.Tab) {
	beginUnsure(b)
	b.Do(chromedp.Click(chromedp.CSS(`[data-play=end]`)))
	b.Eventually("false", folded)
}

// On a telephone the red band is in sight, and what is told at the end does not move the picture.
func TestBrowserHasTheRedBandInSight(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/lab/client-pause")
	b.Size(375, 812)
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
	b.RequireNoErrors()
}

// Who is chosen in the picture, by keyboard, is broken by a step that is added: the address is a link
// to it, and the file has it.
func TestBrowserBreaksWhoIsChosenInThePicture(t *testing.T) {
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
	b.RequireNoErrors()
}

// A chapter shows the picture of what its text has drawn in letters.
func TestBrowserShowsPicturesInTheGuide(t *testing.T) {
	b := browser.Open(t, start(t, t.TempDir())+"/guide/4-time.html")
	require.Equal(t, "false", b.Text(`document.body.textContent.includes("▓▓")`))
	b.Eventually("2", `document.querySelectorAll(".timeline").length`)
	require.Contains(t, b.Text(`document.querySelector(".chapter").textContent`), "woke, and overwrote c2's update")
	b.RequireAccessible()
	b.RequireNoErrors()
}
