//go:build !js

package link

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

func init() { toxics.Register("resp", new(RespToxic)) }

// RespToxic is a toxic for toxiproxy that reads RESP: what it does is its flow's.
type RespToxic struct {
	// Flow is the number under which the toxic finds it: toxiproxy makes toxics by itself, from JSON.
	Flow int64 `json:"flow"`
}

var _ toxics.StatefulToxic = (*RespToxic)(nil)

var (
	flows sync.Map // by number, of connections that are being started
	made  atomic.Int64
	// api is what toxiproxy's proxies want for their metrics and logs; it listens nowhere.
	api = toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
)

// startTCP lets a connection's traffic flow over toxiproxy, with the toxics that read it.
func startTCP(c *connection) {
	p := toxiproxy.NewProxy(api, c.link.name, "", "")
	for d, s := range []struct {
		from net.Conn
		way  stream.Direction
	}{toNode: {c.client, stream.Upstream}, toClient: {c.server, stream.Downstream}} {
		f, number := c.flows[d], made.Add(1)
		flows.Store(number, f)
		_, err := p.Toxics.AddToxicJson(strings.NewReader(
			fmt.Sprintf(`{"type":"resp","stream":%q,"attributes":{"flow":%d}}`, s.way, number)))
		if err != nil {
			panic(err) // only a toxic of an unknown type can fail here
		}
		// It asks the toxic for its state before it returns.
		p.Toxics.StartLink(api, strconv.Itoa(c.number)+s.way.String(), s.from, &f.to, s.way)
		flows.Delete(number)
	}
}

// NewState gives the flow of the direction that its link is starting.
func (t *RespToxic) NewState() any {
	f, _ := flows.Load(t.Flow)
	return f
}

// Pipe passes messages on as they fall due, until the stream ends.
func (t *RespToxic) Pipe(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	for input := stub.Input; ; {
		m, wait := f.await()
		switch {
		case m != nil && m.end:
			stub.Close()
			return
		case m != nil:
			stub.Output <- &stream.StreamChunk{Data: m.data, Timestamp: time.Now()}
			continue
		}
		select {
		case <-f.wake:
		case <-wait:
		case chunk := <-input:
			if chunk == nil {
				f.Close()
				input = nil
				continue
			}
			f.Feed(chunk.Data)
		}
	}
}

// await gives what arrives now, or when to look again; nil: only once something has changed.
func (f *flow) await() (m *message, wait <-chan time.Time) {
	f.conn.link.mu.Lock()
	defer f.conn.link.mu.Unlock()
	if m = f.next(); m != nil {
		return m, nil
	}
	if due, known := f.due(); known {
		wait = time.After(time.Until(due))
	}
	return nil, wait
}
