package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sound = `<!doctype html><html lang="en"><head><title>Page</title><link rel="icon" href="data:,"></head>
<body><main><h1>Page</h1>%s</main></body></html>`

// page serves a body within an accessible page.
func page(t *testing.T, body string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, sound, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAccessibilityProblemsAreFound(t *testing.T) {
	b := open(t, page(t, ""))
	require.Empty(t, b.accessibilityProblems())
	for body, want := range map[string]string{
		`<button style="padding:20px"></button>`:            "a button has no name",
		`<input style="height:40px">`:                       "a textbox has no name",
		`<a href="#x"><svg width="9" height="9"></svg></a>`: "a link has no name",
		`<img src="data:,">`:                                "has no name",
		`<h1>Again</h1>`:                                    "no h1, or several",
		`<h3>Deep</h3>`:                                     "skips a level",
		`<p id="a"></p><p id="a"></p>`:                      "an id is there twice",
		`<p aria-labelledby="nowhere">x</p>`:                "aria-labelledby names what is not there",
		`<p tabindex="3">x</p>`:                             "a tabindex changes the order",
		`<div aria-hidden="true"><button style="padding:20px">x</button></div>`: "can have the focus",
		`<ul><p>x</p></ul>`:                  "a list holds what is no item",
		`<table><tr><td>x</td></tr></table>`: "a table without headers",
		`<div style="overflow:auto;height:20px"><p style="height:90px">x</p></div>`:               "not with the keyboard",
		`<button style="padding:0;border:0;height:12px">x</button>`:                               "smaller than 24 pixels",
		`<p style="color:#999">x</p>`:                                                             "contrast 2.8",
		`<p style="background:#000;color:#333">x</p>`:                                             "contrast 1.6",
		`<p style="opacity:0.4">x</p>`:                                                            "contrast 2.8",
		`<div style="background:rgba(0,0,0,0.9)"><p style="background:transparent">x</p></div>`:   "contrast 1.",
		`<div style="background:#777"><p style="color:light-dark(#888, #999)">under it</p></div>`: "contrast 1.2",
		`<svg role="img" aria-label="x"><rect width="90" height="40" fill="#333"/><text x="9" y="20">` +
			`under it</text></svg>`: "contrast 1.66",
		`<svg role="img" aria-label="x"><text x="9" y="20" fill="#999">x</text></svg>`: "contrast 2.8",
		`<svg role="img" aria-label="x"><rect width="90" height="40" fill="#777" fill-opacity="0.5"/><text x="9" y="20" ` +
			`fill="#777">x</text></svg>`: "contrast 2.3",

		// A text's background is its halo, and not what is drawn after or beside it.
		`<svg role="img" aria-label="x"><rect width="90" height="40" fill="#000"/><text x="9" y="20" paint-order="stroke" ` +
			`stroke="#fff" ` +
			`stroke-width="4">x</text><rect x="50" width="9" height="9" fill="#000"/></svg>`: "",
		// Closed elements are invisible.
		`<p>fine</p><details><summary style="padding:9px">more</summary><p style="color:#fff">closed</p></details>`: "",
	} {
		t.Run(want, func(t *testing.T) {
			b.URL = page(t, body)
			b.Visit("")
			found := strings.Join(b.accessibilityProblems(), "\n")
			if want == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, found, want)
		})
	}
}

// Exceptions, console messages, failed loads, violations of the page's policy and requests to other origins.
func TestErrorsAndRequestsAreRecorded(t *testing.T) {
	b := open(t, page(t, ""))
	b.requireNoErrors()
	for body, want := range map[string]string{
		`<script>throw new Error("x")</script>`:           "Uncaught",
		`<script>console.error("x")</script>`:             "call of error",
		`<script src="http://127.0.0.1:1/x.js"></script>`: "net::ERR",
		`<meta http-equiv="Content-Security-Policy" content="script-src 'none'">` +
			`<script>1</script>`: "Content Security Policy",
	} {
		b.URL = page(t, body)
		b.Visit("")
		b.RequireErrors(want)
	}
	require.Contains(t, b.requests, "http://127.0.0.1:1/x.js")
}

// A container's network that appears meanwhile is no mistake of the page.
func TestLog_OnlyTheMachinesNetworkIsNoError(t *testing.T) {
	b := &Tab{}
	b.logged("Failed to load resource: net::ERR_NETWORK_CHANGED")
	b.logged("Failed to load resource: net::ERR_CONNECTION_REFUSED")
	require.Equal(t, []string{"Failed to load resource: net::ERR_CONNECTION_REFUSED"}, b.errors)
}
