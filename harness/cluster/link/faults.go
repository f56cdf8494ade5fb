package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"

	"lockproof/harness/cluster"
)

// forever is the latency of a cut, in milliseconds: longer than any run.
const forever = int64(1000 * time.Hour / time.Millisecond)

// ways lists toxiproxy's names for the streams of a direction, with our index
// of each.
func ways(d cluster.Direction) map[int]string {
	switch d {
	case cluster.ToNode:
		return map[int]string{toNode: "upstream"}
	case cluster.ToClient:
		return map[int]string{toClient: "downstream"}
	}
	return map[int]string{toNode: "upstream", toClient: "downstream"}
}

// Cut holds all traffic of a direction until Heal. Under TCP a partition does
// not lose bytes: what was sent into it is sent again, and arrives after it.
// Cuts add up: a link that was cut twice wants to be healed twice.
func (l *Link) Cut(d cluster.Direction) error {
	l.chain.Lock()
	defer l.chain.Unlock()
	for i, way := range ways(d) {
		if l.cuts[i]++; l.cuts[i] > 1 {
			continue
		}
		if err := l.addToxic("cut-"+way, "latency", way, fmt.Sprintf(`{"latency":%d}`, forever)); err != nil {
			return err
		}
	}
	return nil
}

// Heal ends a Cut; what was held goes on at once.
func (l *Link) Heal(d cluster.Direction) error {
	l.chain.Lock()
	defer l.chain.Unlock()
	for i, way := range ways(d) {
		if l.cuts[i] == 0 {
			return fmt.Errorf("link %s is not cut", l.Name())
		}
		if l.cuts[i]--; l.cuts[i] > 0 {
			continue
		}
		if err := l.removeToxic("cut-" + way); err != nil {
			return err
		}
	}
	return nil
}

// Delay adds a one-way delay, in whole milliseconds; 0 removes it.
func (l *Link) Delay(d cluster.Direction, by time.Duration) error {
	l.chain.Lock()
	defer l.chain.Unlock()
	for i, way := range ways(d) {
		if l.delayed[i] {
			if err := l.removeToxic("delay-" + way); err != nil {
				return err
			}
			l.delayed[i] = false
		}
		if by <= 0 {
			continue
		}
		attributes := fmt.Sprintf(`{"latency":%d}`, by.Milliseconds())
		if err := l.addToxic("delay-"+way, "latency", way, attributes); err != nil {
			return err
		}
		l.delayed[i] = true
	}
	return nil
}

// reset removes every fault, so that connections can end.
func (l *Link) reset() {
	l.chain.Lock()
	for i, way := range ways(cluster.Both) {
		if l.cuts[i] > 0 {
			l.cuts[i] = 0
			l.removeToxic("cut-" + way)
		}
		if l.delayed[i] {
			l.delayed[i] = false
			l.removeToxic("delay-" + way)
		}
	}
	l.chain.Unlock()
	l.LetGo()
}

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
func (l *Link) addToxic(name, kind, way, attributes string) error {
	text, err := json.Marshal(toxicOrder{Name: name, Type: kind, Stream: way, Toxicity: 1, Attributes: json.RawMessage(attributes)})
	if err == nil {
		_, err = l.proxy.Toxics.AddToxicJson(bytes.NewReader(text))
	}
	if err != nil {
		return fmt.Errorf("link %s: add toxic %s: %w", l.Name(), name, err)
	}
	return nil
}

func (l *Link) removeToxic(name string) error {
	err := l.proxy.Toxics.RemoveToxic(context.Background(), name)
	if err != nil && !errors.Is(err, toxiproxy.ErrToxicNotFound) {
		return fmt.Errorf("link %s: remove toxic %s: %w", l.Name(), name, err)
	}
	return nil
}
