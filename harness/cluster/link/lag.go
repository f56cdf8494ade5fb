//go:build !js

package link

import (
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

func init() { toxics.Register("lag", new(LagToxic)) }

// LagToxic is toxiproxy's latency toxic, but that its latency can be changed while it is
// in place: that of a cut is for ever. It is never removed, only set to nothing: toxiproxy
// 2.12 removes a toxic from its list, leaves it in a link that is just ending, and panics
// (index out of range) when the next is added.
type LagToxic struct {
	// Link is the id of the proxied link that it belongs to, and Name its own.
	Link string `json:"link"`
	Name string `json:"name"`
}

var (
	_ toxics.StatefulToxic = (*LagToxic)(nil)
	_ toxics.BufferedToxic = (*LagToxic)(nil)
)

// lag is what all connections of a link share of such a toxic.
type lag struct {
	mu      sync.Mutex
	by      time.Duration
	changed chan struct{} // closed at the next change
}

func newLag(by time.Duration) *lag { return &lag{by: by, changed: make(chan struct{})} }

func (l *lag) read() (by time.Duration, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by, l.changed
}

// set changes it; what it held goes on at once.
func (l *lag) set(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by = by
	close(l.changed)
	l.changed = make(chan struct{})
}

// GetBufferSize is how many chunks may wait, as in toxiproxy's latency toxic.
func (t *LagToxic) GetBufferSize() int { return 1024 }

// NewState gives the lag that the link has for the toxic.
func (t *LagToxic) NewState() any {
	if p, ok := proxies.Load(t.Link); ok {
		if known, ok := p.(*proxied).lags.Load(t.Name); ok {
			return known
		}
	}
	return newLag(0) // not one of ours: let it pass
}

// Pipe passes each chunk on when it has been under way for long enough.
func (t *LagToxic) Pipe(stub *toxics.ToxicStub) {
	l := stub.State.(*lag)
	for {
		var c *stream.StreamChunk
		select {
		case <-stub.Interrupt:
			return
		case c = <-stub.Input:
		}
		if c == nil {
			stub.Close()
			return
		}
		by, changed := l.read()
		interrupted := false
		if wait := by - time.Since(c.Timestamp); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
				c.Timestamp = c.Timestamp.Add(wait)
			case <-changed:
			case <-stub.Interrupt:
				interrupted = true
			}
			timer.Stop()
		}
		stub.Output <- c
		if interrupted {
			return
		}
	}
}
