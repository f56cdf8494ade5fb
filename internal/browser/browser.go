package browser

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// timeout bounds each wait for a page.
const timeout = time.Minute

// Tab is a page in Chromium.
type Tab struct {
	t   testing.TB
	ctx context.Context
	// URL is the page's own; requests outside its origin are errors.
	URL string
	// Folder has the files that a page from a file may load; "": only itself.
	Folder string

	mu       sync.Mutex
	errors   []string
	requests []string
}

// Open opens a page with reduced motion, or skips the test if Chromium is missing. At the end of the test no page may
// have had an error.
func Open(t testing.TB, url string) *Tab {
	t.Helper()
	b := open(t, url)
	t.Cleanup(b.requireNoErrors)
	return b
}

func open(t testing.TB, url string) *Tab {
	t.Helper()
	chromium, err := installed()
	needs.Check(t, needs.Chromium, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Tab{t: t, ctx: ctx, URL: url}
	b.listen()
	b.Media(map[string]string{"prefers-reduced-motion": "reduce"})
	b.Visit("")
	return b
}

func installed() (path string, err error) {
	for _, name := range needs.Browsers {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// listen records errors and requests from now on.
func (b *Tab) listen() {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx)) // starts the browser
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				text += ": " + e.ExceptionDetails.Exception.Description
			}
			b.errors = append(b.errors, text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
				text := "the console has a call of " + string(e.Type)
				for _, argument := range e.Args {
					text += " " + string(argument.Value) + argument.Description
				}
				b.errors = append(b.errors, text)
			}
		case *log.EventEntryAdded:
			b.logged(e.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		}
	}))
	_, err := chromedp.Call(b.ctx, log.Enable, cdp.Empty{})
	require.NoError(b.t, err)
}

// networkChanged is Chromium's error for the requests that it ends when an interface of the machine comes or goes, as
// those of other tests' containers do. The page has no part in it, and must get over it.
const networkChanged = "net::ERR_NETWORK_CHANGED"

// logged records an entry of the browser's log.
func (b *Tab) logged(text string) {
	if !strings.Contains(text, networkChanged) {
		b.errors = append(b.errors, text)
	}
}

// Visit loads a page: a fragment, query or path relative to the Tab's URL.
func (b *Tab) Visit(reference string) {
	b.t.Helper()
	base, err := url.Parse(b.URL)
	require.NoError(b.t, err)
	target, err := base.Parse(reference)
	require.NoError(b.t, err)
	b.Do(chromedp.Navigate("about:blank"))
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	err = chromedp.Do(ctx, chromedp.Navigate(target.String()))
	for err != nil && strings.Contains(err.Error(), networkChanged) {
		err = chromedp.Do(ctx, chromedp.Navigate(target.String()))
	}
	require.NoError(b.t, err)
}

// Do runs actions on the page.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// Press types keys.
func (b *Tab) Press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.Do(chromedp.KeyEvent(key))
	}
}

// Text returns the text of a script's result.
func (b *Tab) Text(script string) string {
	b.t.Helper()
	got, err := b.evaluate(script)
	require.NoError(b.t, err, script)
	return got
}

func (b *Tab) evaluate(script string) (string, error) {
	return chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+script+")"))
}

// Eventually waits until the page is loaded and a script returns a text. Until then the script may also fail: its
// elements may be missing.
func (b *Tab) Eventually(want, script string) {
	b.t.Helper()
	got := ""
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if got, err = b.evaluate(`document.readyState === "complete" ? (` + script + `) : "not loaded"`); err != nil {
			got = err.Error()
		} else if got == want {
			return
		}
	}
	require.Equal(b.t, want, got, script)
}

// Size sets the size of the window, in CSS pixels.
func (b *Tab) Size(width, height int64) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(width, height))
}

// Media sets media features, as in {"prefers-color-scheme": "dark"}; "type" is
// the medium, screen or print.
func (b *Tab) Media(features map[string]string) {
	b.t.Helper()
	var p emulation.SetEmulatedMediaParams
	for name, value := range features {
		if name == "type" {
			p.Media = value
			continue
		}
		p.Features = append(p.Features, &emulation.MediaFeature{Name: name, Value: value})
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, p)
	require.NoError(b.t, err)
}

// Offline switches the network off or on.
func (b *Tab) Offline(away bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: away, DownloadThroughput: -1, UploadThroughput: -1}}})
	require.NoError(b.t, err)
}

// Scripts allows scripts or not, from the next page on.
func (b *Tab) Scripts(allowed bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !allowed})
	require.NoError(b.t, err)
}

// RequireErrors requires that the pages so far had errors, all with this text, and forgets them.
func (b *Tab) RequireErrors(text string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.NotEmpty(b.t, b.errors)
	for _, e := range b.errors {
		require.Contains(b.t, e, text)
	}
	b.errors = nil
}

// requireNoErrors fails the test if the page had an error or sent a request outside its own origin; the origin of a
// file is the file itself.
func (b *Tab) requireNoErrors() {
	b.t.Helper()
	own, err := url.Parse(b.URL)
	require.NoError(b.t, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors)
	for _, request := range b.requests {
		other, err := url.Parse(request)
		require.NoError(b.t, err)
		same := other.Scheme == own.Scheme && other.Host == own.Host && (own.Scheme != "file" || other.Path == own.Path ||
			b.Folder != "" && strings.HasPrefix(other.Path, b.Folder+"/"))
		require.True(b.t, same || request == "about:blank" || strings.HasPrefix(request, "data:") ||
			strings.HasPrefix(request, "blob:"),
			"the page requests %s", request)
	}
}
