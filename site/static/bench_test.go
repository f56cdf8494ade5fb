package main

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// BenchmarkFirstVerdict is how long a reader waits who opens an experiment and runs it:
// from the opening, with the engine to be loaded and compiled, and from the click to the
// verdict once it is there.
func BenchmarkFirstVerdict(b *testing.B) {
	for name, way := range ways {
		b.Run(name, func(b *testing.B) {
			tab := open(b, way, "lab/late-release.html")
			run := func() {
				tab.Do(chromedp.Click(chromedp.CSS(`[value=unsure]`)), chromedp.Click(chromedp.CSS(`#experiment .first`)))
				tab.Eventually("holds", verdict)
			}
			run() // Chromium's own start is not the page's
			var opened, clicked time.Duration
			for b.Loop() {
				began := time.Now()
				tab.Visit("lab/late-release.html")
				run()
				opened += time.Since(began)
				tab.Visit("lab/late-release.html")
				tab.Eventually("true", `(self.there ||= (engine.ask("lab/none.html", {}, false).then(() => { self.there = 2; }), 1)) === 2`)
				began = time.Now()
				run()
				clicked += time.Since(began)
			}
			b.ReportMetric(opened.Seconds()/float64(b.N), "s/opening")
			b.ReportMetric(clicked.Seconds()/float64(b.N), "s/click")
		})
	}
}
