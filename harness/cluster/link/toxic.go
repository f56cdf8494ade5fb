//go:build !js

package link

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

func init() { toxics.Register("resp", new(RespToxic)) }

// RespToxic is a toxic for toxiproxy that reads RESP. It stands in both
// directions of every link from the start, cuts the stream into messages, gives
// each its travel time, records it, and holds, loses or drops the ones that an
// intercept names.
type RespToxic struct {
	// Link is the id of the proxied link that it belongs to.
	Link string `json:"link"`
}

var _ toxics.StatefulToxic = (*RespToxic)(nil)

// NewState gives the flow of the direction that its link is starting.
func (t *RespToxic) NewState() any {
	p, ok := proxies.Load(t.Link)
	if !ok {
		return newFlow(nil, toNode) // not one of ours: let it pass
	}
	return p.(*proxied).joining
}

// Pipe passes messages on as they fall due, until the stream ends or toxiproxy
// interrupts it to change the chain; the flow keeps what is still waiting.
func (t *RespToxic) Pipe(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		data, wait := f.next()
		if data != nil {
			select {
			case stub.Output <- &stream.StreamChunk{Data: data, Timestamp: time.Now()}:
				f.sent()
			case <-stub.Interrupt:
				return
			}
			continue
		}
		if f.done() {
			stub.Close()
			return
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		input := stub.Input
		if f.ended {
			input = nil
		}
		select {
		case <-stub.Interrupt:
			return
		case <-f.wake:
		case <-due:
		case chunk := <-input:
			if chunk == nil {
				f.end()
				continue
			}
			f.take(chunk.Data)
		}
	}
}
