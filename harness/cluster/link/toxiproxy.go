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

// RespToxic is a toxic for toxiproxy that passes data through a flow.
type RespToxic struct {
	// Flow is the number of the flow: toxiproxy makes toxics itself, from JSON.
	Flow int64 `json:"flow"`
}

var _ toxics.StatefulToxic = (*RespToxic)(nil)

var (
	flows sync.Map // by number, of connections during their start
	made  atomic.Int64
	// api is for the metrics and logs of toxiproxy's proxies; it does not listen.
	api = toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
)

// startTCP starts a connection over toxiproxy, with a RespToxic in each direction.
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
		// StartLink calls NewState before it returns.
		p.Toxics.StartLink(api, strconv.Itoa(c.number)+s.way.String(), s.from, &f.to, s.way)
		flows.Delete(number)
	}
}

// NewState returns the flow of the direction that is being started.
func (t *RespToxic) NewState() any {
	f, _ := flows.Load(t.Flow)
	return f
}

// Pipe delivers messages when they are due, until the stream ends.
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

// await returns a message that arrives now, or a channel that fires at the next due time; nil: only a change helps.
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
