//go:build !js

package link

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/rs/zerolog"
)

// proxied is a link's proxy of toxiproxy.
type proxied struct {
	*toxiproxy.Proxy
	link *Link
	id   string   // the key under which the toxics find it
	lags sync.Map // *lag, of the toxics that toxiproxy has, by name

	starting sync.Mutex
	joining  *flow // the flow of the direction that is being started
}

// proxies finds one by its id. toxiproxy makes toxics by itself, from JSON, so
// a name is all that can be handed to one.
var (
	proxies sync.Map
	nextID  atomic.Int64
	// api is what toxiproxy's proxies want for their metrics and logs; it
	// listens nowhere.
	api = toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
)

// newProxy makes the proxy of a link, with the toxics that read its messages.
func newProxy(l *Link) proxy {
	p := &proxied{Proxy: toxiproxy.NewProxy(api, l.cfg.Client+"-"+l.cfg.Node, "", ""), link: l,
		id: strconv.FormatInt(nextID.Add(1), 10)}
	proxies.Store(p.id, p)
	for _, way := range []string{"upstream", "downstream"} {
		if err := p.addToxic("resp-"+way, "resp", way, fmt.Sprintf(`{"link":%q}`, p.id)); err != nil {
			panic(err) // only a toxic of an unknown type can fail here
		}
	}
	return p
}

// start lets a connection's traffic flow. StartLink asks the toxic for its state before
// it returns, without saying for which connection; joining tells it.
func (p *proxied) start(c *connection) {
	p.starting.Lock()
	defer p.starting.Unlock()
	for d, s := range []struct {
		from, to net.Conn
		way      stream.Direction
	}{toNode: {c.client, c.server, stream.Upstream}, toClient: {c.server, c.client, stream.Downstream}} {
		p.joining = c.flows[d]
		p.Toxics.StartLink(api, strconv.Itoa(c.number)+s.way.String(), s.from, &end{Conn: s.to, of: c, flow: c.flows[d]},
			s.way)
	}
}

func (p *proxied) close() { proxies.Delete(p.id) }

// toxicOrder is what toxiproxy is told of a toxic.
type toxicOrder struct {
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Stream     string          `json:"stream"`
	Toxicity   int             `json:"toxicity"`
	Attributes json.RawMessage `json:"attributes"`
}

// addToxic speaks to toxiproxy as its HTTP API does. Its jitter and toxicity
// draw from an unseeded source, so both are left out (FACTS: 0 and 1).
func (p *proxied) addToxic(name, kind, way, attributes string) error {
	text, err := json.Marshal(toxicOrder{Name: name, Type: kind, Stream: way, Toxicity: 1,
		Attributes: json.RawMessage(attributes)})
	if err == nil {
		_, err = p.Toxics.AddToxicJson(bytes.NewReader(text))
	}
	if err != nil {
		return fmt.Errorf("link %s: add toxic %s: %w", p.link.Name(), name, err)
	}
	return nil
}

// lag sets how long a toxic holds what passes; the toxic is put in place when it is first
// needed.
func (p *proxied) lag(name, way string, by time.Duration) error {
	known, placed := p.lags.Load(name)
	switch {
	case placed:
		known.(*lag).set(by)
		return nil
	case by == 0:
		return nil
	}
	p.lags.Store(name, newLag(by))
	return p.addToxic(name, "lag", way, fmt.Sprintf(`{"link":%q,"name":%q}`, p.id, name))
}
