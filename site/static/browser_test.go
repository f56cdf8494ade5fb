package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/browser"
)

const verdict = `(document.querySelector("#outcome [data-verdict]") || {dataset: {}}).dataset.verdict`

// ways are the ways to open the site; each returns the address of its root.
var ways = map[string]func(testing.TB, made) (root, folder string){
	"folder": func(_ testing.TB, s made) (root, folder string) {
		return "file://" + filepath.ToSlash(s.dir) + "/", filepath.ToSlash(s.dir)
	},
	"server": func(t testing.TB, s made) (root, folder string) {
		server := httptest.NewServer(http.FileServer(http.Dir(s.dir)))
		t.Cleanup(server.Close)
		return server.URL + "/", ""
	},
}

// open opens a page of the site.
func open(t testing.TB, way func(testing.TB, made) (root, folder string), page string) *browser.Tab {
	t.Helper()
	root, folder := way(t, theSite(t))
	b := browser.Open(t, root+"index.html") // Chromium's own list of a folder causes a warning
	b.Folder = folder
	b.Visit(page)
	return b
}

func TestBrowser_PagesAreAccessible(t *testing.T) {
	b := open(t, ways["folder"], "index.html")
	for _, scheme := range []string{"light", "dark"} {
		b.Media(map[string]string{"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"})
		for _, width := range []int64{1280, 375} {
			b.Size(width, 800)
			for _, page := range []string{"index.html", "lab/index.html", "lab/client-pause.html", "exercises/index.html",
				"exercises/majority.html", "guide/index.html", "guide/3-redlock.html", "guide/teaching.html",
				"stories/index.html", "stories/late-release.html", "locks/index.html",
				"locks/redsync-deadlines-late-release.html"} {
				b.Visit(page)
				b.RequireAccessible()
				require.LessOrEqual(t, b.Text(`document.documentElement.scrollWidth - innerWidth`), "0",
					"%s scrolls sideways", page)
			}
		}
	}
}

// Prediction, story and a changed control, by keyboard alone, with the network off after the page and the engine are
// loaded.
func TestBrowser_LabByKeyboard_WorksOffline(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			b := open(t, way, "lab/restart-delay-too-short.html")
			b.Eventually("true", `(self.there ||= (engine.start().then(() => { self.there = 2; }), 1)) === 2`)
			b.Offline(true)
			tabTo(t, b, "predict-mutual-exclusion")
			b.Press(" ", kb.ArrowDown) // violated
			tabTo(t, b, "Run it")
			b.Press(kb.Enter)
			b.Eventually("true", `document.getElementById("outcome").classList.contains("unfolding")`)
			b.RequireAccessible()
			tabTo(t, b, "Show all")
			b.Press(kb.Enter)
			require.Equal(t, "violated", b.Text(verdict))
			require.Equal(t, "The verdict", b.Text(`document.activeElement.getAttribute("aria-label")`),
				"the focus goes to what came of it")
			require.Equal(t, "You saw it coming.", b.Text(`document.querySelector(".remark").textContent.trim()`))
			b.Text(`document.getElementById("restart-delay").focus()`)
			var up []string
			for range 13 {
				up = append(up, kb.ArrowUp)
			}
			b.Press(up...)
			b.Eventually("holds", verdict)
			b.RequireAccessible()
		})
	}
}

// tabTo presses Tab until the focused element has this name or text.
func tabTo(t *testing.T, b *browser.Tab, want string) {
	t.Helper()
	for range 80 {
		if b.Text(`document.activeElement.name || document.activeElement.textContent.trim()`) == want {
			return
		}
		b.Press(kb.Tab)
	}
	t.Fatalf("Tab does not lead to %s", want)
}

// A link contains the scenario, its controls, its seed and the lock.
func TestBrowser_LabLink_RestoresTheExperiment(t *testing.T) {
	b := open(t, ways["folder"], "lab/late-release.html?lock=redsync&seed=7")
	b.Eventually("redsync 7", `document.getElementById("lock").value + " " + document.getElementById("seed").value`)
	b.Do(chromedp.Click(chromedp.CSS(`[value=unsure]`)), chromedp.Click(chromedp.CSS(`#experiment .first`)))
	b.Eventually("violated", verdict)
	require.Equal(t, "late-release.html?lock=redsync&seed=7", b.Text(`document.querySelector(".link-to `+
		`a").getAttribute("href")`))
	require.Contains(t, b.Text(`document.querySelector("#outcome .links").innerText`), "3. Redlock, rule by rule")
}

// A wrong lock breaks; a correct one is searched step by step.
func TestBrowser_Exercise_BreaksOnlyAWrongLock(t *testing.T) {
	b := open(t, ways["folder"], "exercises/majority.html")
	decide := func(quorum string) {
		b.Text(`(() => { document.getElementById("quorum").value = "` + quorum + `"; })()`)
		b.Do(chromedp.Click(chromedp.CSS(`[value=servers]`)), chromedp.Click(chromedp.CSS(`#experiment .first`)))
	}
	decide("N/2")
	b.Eventually("It breaks", `document.querySelector("#outcome h2").textContent`)
	// the result has the focus, and is not announced as a whole
	b.Eventually("It breaks", `document.activeElement.textContent`)
	require.Equal(t, "0", b.Text(`document.querySelectorAll("#outcome[aria-live]").length`))
	require.Contains(t, b.Text(`document.querySelector("#outcome").textContent`), "half-is-not-majority")
	b.RequireAccessible()
	decide("n/0")
	b.Eventually("Grants needed: division by zero.", `document.getElementById("problem").textContent`)
	decide("1 + N / 2")
	b.Eventually("So far it holds", `document.querySelector("#outcome h2").textContent`)
	b.RequireAccessible()
	b.Do(chromedp.Click(chromedp.CSS(`#stop`)))
	b.Eventually("Stopped.", `document.getElementById("busy").textContent`)
}

// Passed levels and their decisions are stored; the final lock shows the learner's own formula.
func TestBrowser_PassedLevels_AreStored(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			b := open(t, way, "exercises/validity.html")
			b.Text(`(() => { engine.ask = async () => ({ status: 200, text: '<form id="experiment"></form><p id="problem"></p>' +
				'<section id="outcome"><h2 tabindex="-1">It holds</h2><p data-passed></p>' +
				'<var data-own="validity" data-name="validity">ttl - elapsed - drift</var></section>' }); })()`)
			b.Text(`(() => { document.getElementById("validity").value = "ttl - 2*elapsed - drift"; })()`)
			b.Do(chromedp.Click(chromedp.CSS(`[value=monotonic]`)), chromedp.Click(chromedp.CSS(`#experiment .first`)))
			b.Eventually("(ttl - 2*elapsed - drift)", `document.querySelector("#outcome var").textContent`)
			b.Visit("exercises/validity.html")
			require.Equal(t, "ttl - 2*elapsed - drift", b.Text(`document.getElementById("validity").value`))
			require.Equal(t, "monotonic", b.Text(`document.querySelector("[name=clock]:checked").value`))
			b.Visit("exercises/index.html")
			require.Equal(t, "true",
				b.Text(`document.querySelector("[data-level=validity]").textContent.endsWith("✓ passed")`))
		})
	}
}

// The first page plays step by step with reduced motion, and shows the payment's fate after a prediction. A link
// contains the tab and the value.
func TestBrowser_FirstPage_PlaysAndReveals(t *testing.T) {
	b := open(t, ways["folder"], "index.html")
	const shown, story = `document.getElementById("verdict").textContent`, `document.getElementById("caption").textContent`
	require.Equal(t, "", b.Text(shown), "nobody is told the answer first")
	require.Equal(t, "true", b.Text(`document.getElementById("strip").hidden`))
	before := b.Text(story)
	b.Do(chromedp.Click(chromedp.CSS(`[data-answer=yes]`)), chromedp.Click(chromedp.CSS(`[data-do=on]`)))
	require.NotEqual(t, before, b.Text(story))
	for range 12 {
		b.Do(chromedp.Click(chromedp.CSS(`[data-do=on]`)))
	}
	require.Equal(t, "✗ c2’s payment is lost. You said otherwise.", b.Text(shown))
	require.Equal(t, "1", b.Text(`document.querySelectorAll(".messages .late").length`), "an arrow shows the late write")
	require.Equal(t, "asleep (a GC pause)", b.Text(`document.querySelector(".lanes .sleeps").textContent`))
	b.Eventually("21", `document.querySelectorAll("#strip span").length`)
	require.Equal(t, "10", b.Text(`document.querySelectorAll("#strip .lost").length`))
	b.RequireAccessible()
	b.Text(
		`(() => { const q = document.getElementById("quantity"); q.value = 5; q.dispatchEvent(new Event("input")); })()`)
	require.Contains(t, b.Text(shown), "✓ It survives.")
	b.Visit("index.html#restart=0.7")
	b.Text(`location.reload()`)
	b.Eventually("0.7 s", `document.getElementById("value").textContent`)
	require.Equal(t, "n3 is back after", b.Text(`document.getElementById("of").textContent`))
}

// The first frame needs no engine; the files that it loads are small.
func TestFirstFrame_IsSmall(t *testing.T) {
	s := theSite(t)
	total := 0
	page, err := os.ReadFile(filepath.Join(s.dir, "index.html"))
	require.NoError(t, err)
	total += len(page)
	for _, m := range links.FindAllStringSubmatch(string(page), -1) {
		if name, is := strings.CutPrefix(m[1], "assets/"); is {
			data, err := os.ReadFile(filepath.Join(s.dir, "assets", name))
			require.NoError(t, err)
			total += len(data)
		}
	}
	require.Less(t, total, 150_000)
	t.Logf("%d bytes", total)
}
