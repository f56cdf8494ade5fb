package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"example.org/lockproof/harness/history"
)

// invented is a made-up run: clients in loops, nodes that keep keys, and faults, most of which take effect.
type invented struct {
	*story
	*rand.Rand
	keys   map[string]kept // by node
	quota  int             // nodes that a grant needs
	latest string          // version at the store
	fence  int64
	next   map[string]turn // by client
	away   []outage
	lost   []outage // when a node loses its keys
}

// kept is the key on a node.
type kept struct {
	token      string
	set, until int64
}

// turn is a client's next action.
type turn struct {
	at int64
	do func(at int64)
}

// outage is an interval in which a node is unreachable, for one client or, "", for all.
type outage struct {
	node, client string
	from, until  int64
}

const step = 50 // ms: all times are multiples

func invent(seed uint64) *invented {
	m := &invented{story: newStory(), Rand: rand.New(rand.NewPCG(seed, 1)), keys: map[string]kept{}, quota: 2,
		next: map[string]turn{}}
	m.drawn = true
	h := &m.header
	h.Nodes, h.Seed = h.Nodes[:3], seed
	h.Bounds.Free, h.Bounds.Grant = 1200*ms, int64(4+m.IntN(8))*step*ms
	if m.often(2) {
		h.Bounds.Release, h.Bounds.Tenure, h.Bounds.Cancel = 4*step*ms, 20*step*ms, 4*step*ms
	}
	h.Fencing, h.FencedStore = m.often(2), m.often(3)
	if m.often(3) {
		h.Earned = history.Earned{Grants: 3, Contended: 2, Faults: 1, Writes: 1}
	}
	if m.often(4) {
		m.quota = 1 + m.IntN(3)
		h.Without = []string{[]string{"Majority", "NodeTimeout", "ReleaseEverywhere", "ElapsedCheck"}[m.IntN(4)]}
	}
	m.addFaults()
	for i, client := range h.Clients {
		m.then(client, int64(i)*step, func(at int64) { m.tryAcquire(client, at) })
	}
	for range 20 + m.IntN(40) {
		first := h.Clients[0]
		for _, client := range h.Clients {
			if m.next[client].at < m.next[first].at {
				first = client
			}
		}
		m.next[first].do(m.next[first].at)
	}
	return m
}

func (m *invented) then(client string, at int64, do func(at int64)) { m.next[client] = turn{at, do} }

func (m *invented) often(in int) bool { return m.IntN(in) == 0 }

// soon is a random time, at most so many steps later.
func (m *invented) soon(steps int) int64 { return int64(m.IntN(steps+1)) * step }

// addFaults adds faults and clocks.
func (m *invented) addFaults() {
	for range m.IntN(5) {
		from, node, client := m.soon(60), m.header.Nodes[m.IntN(3)], m.header.Clients[m.IntN(3)]
		until := from + step + m.soon(40)
		link := client + "-" + node
		away := outage{node, client, from, until}
		switch m.IntN(20) {
		case 0, 1:
			m.lasting(from, until, "cut", link)
		case 2:
			m.slow(from, until, int64(1+m.IntN(6))*step, link)
		case 3, 4:
			m.lasting(from, until, "pause", node)
			away.client = ""
		case 5:
			m.lasting(from, until, "pause", client)
			away = outage{}
		case 6, 7:
			m.instant(from, "kill", node)
			if away.client = ""; m.often(2) {
				m.instant(until, "start", node)
				m.look(until, node, "r2", "", 0)
				m.lost = append(m.lost, away)
			} else {
				away.until = never
			}
		case 8:
			m.instant(from, "kill", client)
			away = outage{}
		case 9:
			m.instant(from, "flush", node)
			m.lost, away = append(m.lost, away), outage{}
		case 10, 11:
			m.lasting(from, until, []string{"lose", "hold"}[m.IntN(2)], link)
		case 12, 13:
			m.clock(from, node, from+int64(m.IntN(9)-4)*5*step, []float64{1, 0.5, 2, 1.005, 0.995}[m.IntN(5)], true)
			away = outage{}
		case 14:
			m.clock(from, client, from+m.soon(4), []float64{1, 0.5, 2, 0.995}[m.IntN(4)], m.often(3))
			away = outage{}
		case 16:
			m.lasting(from, until, []string{"fill", "slow-fsync", "fail-fsync"}[m.IntN(3)], node)
			away.client = ""
		case 17:
			m.counted(from, until, m.IntN(2), history.Fault{Kind: []string{"lose", "hold", "drop"}[m.IntN(3)], Count: m.IntN(3)})
			away = outage{"n1", "c1", from, until}
		case 18:
			m.seen(from, until, "kill", node)
			away = outage{node, "", until, never}
		case 19:
			m.lasting(from, from+1000+m.soon(10), "hold", link)
			away.until = from + 1000
		case 15:
			m.add(from, history.Event{Process: client, Type: history.TypeCancel})
			away = outage{}
		}
		m.away = append(m.away, away)
	}
}

func (m *invented) reached(client string, t int64) (nodes []string) {
	for _, node := range m.header.Nodes {
		away := slices.ContainsFunc(m.away, func(a outage) bool {
			return a.node == node && (a.client == "" || a.client == client) && a.from <= t && t < a.until
		})
		if !m.often(15) && (!away || m.often(10)) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// key is the key on a node at a time.
func (m *invented) key(node string, t int64) kept {
	k := m.keys[node]
	forgot := slices.ContainsFunc(m.lost, func(a outage) bool { return a.node == node && k.set < a.from && a.from <= t })
	if forgot || k.until <= t {
		return kept{}
	}
	return k
}

func (m *invented) tryAcquire(client string, t int64) {
	token := fmt.Sprintf("%s.%d", client, m.ids[client]+1)
	var mine []string
	if m.often(8) {
		m.looks(t)
	}
	for _, node := range m.reached(client, t) {
		k := m.key(node, t)
		if m.often(12) { // the reply is lost
			m.silent(t, client, token, node)
			if k.token == "" && m.often(2) {
				m.keys[node] = kept{token, t, t + 3000}
			}
			continue
		}
		if k.token != "" && !m.often(80) {
			m.refused(t, client, token, k.token, node)
			continue
		}
		mine = append(mine, node)
		m.keys[node] = kept{token, t, t + 1000}
	}
	m.sets(t, client, token, 1000, mine...)
	done := t + m.soon(2)
	if m.often(12) {
		defer m.add(t, history.Event{Process: client, Type: history.TypeCancel}) // after the invoke
		done += m.soon(4)
	}
	switch {
	case m.often(30):
		m.attempt(client, t, 0, "") // it hangs
		m.then(client, never, func(int64) {})
		return
	case len(mine) < m.quota || m.often(20):
		if m.often(4) {
			done += m.soon(20)
		}
		reason := []string{history.ReasonHeld, history.ReasonNoMajority, history.ReasonTooLate}[m.IntN(3)]
		outcome := history.TypeFail
		if m.often(6) {
			outcome = history.TypeInfo
		}
		m.op(t, done, outcome, history.Event{Process: client, Op: history.OpAcquire, Key: "k1", Reason: reason})
		m.then(client, done, func(at int64) {
			if !m.often(4) {
				m.deleteKeys(client, token, at)
			}
			m.then(client, at+m.soon(6), func(at int64) { m.tryAcquire(client, at) })
		})
		return
	}
	m.fence += int64(m.IntN(7)+2) / 4
	id := m.op(t, done, history.TypeOK, history.Event{Process: client, Op: history.OpAcquire, Key: "k1", Token: token,
		Fence:    m.fence,
		Validity: (1000 - int64(m.IntN(7)-1)*step/2) * ms, Wall: m.often(6)})
	m.then(client, done+m.soon(8), func(at int64) { m.useLease(client, token, id, at) })
}

// useLease draws a client's next action with a lease.
func (m *invented) useLease(client, token string, id int, t int64) {
	again := func(at int64) { m.useLease(client, token, id, at) }
	asks := func(at int64) { m.tryAcquire(client, at) }
	switch m.IntN(8) {
	case 0, 1:
		m.tryExtend(client, token, id, t)
		m.then(client, t+2*step+m.soon(6), again)
	case 2:
		m.read(client, id, t, t+step, m.latest, 0)
		m.then(client, t+step+m.soon(6), again)
	case 3, 4:
		version := fmt.Sprintf("%s-%d", client, t)
		outcome := []history.Type{history.TypeOK, history.TypeOK, history.TypeFail, history.TypeInfo}[m.IntN(4)]
		if m.often(2) {
			m.stored(client, version, t, t+m.soon(1))
		}
		base := m.latest
		if m.often(4) {
			base = "" // an old version
		}
		m.write(client, id, t, t+step, outcome, base, version, 0)
		if outcome == history.TypeOK {
			m.latest = version
		}
		m.then(client, t+step+m.soon(6), again)
	case 5:
		m.then(client, t+1000, asks) // the lease expires
	default:
		outcome := []history.Type{history.TypeOK, history.TypeOK, history.TypeOK, history.TypeInfo, ""}[m.IntN(5)]
		done := t + m.soon(2)
		if m.often(4) {
			done += m.soon(8)
		}
		m.release(client, id, t, done, outcome)
		m.deleteKeys(client, token, t)
		m.then(client, done+m.soon(6), asks)
	}
}

func (m *invented) looks(t int64) {
	node, id := m.header.Nodes[m.IntN(3)], "r1"
	if slices.ContainsFunc(m.lost, func(a outage) bool { return a.node == node && a.until <= t }) {
		id = "r2"
	}
	k := m.key(node, t)
	switch {
	case m.often(10):
		k = kept{}
	case k.token != "" && m.often(30):
		m.look(t, node, id, k.token, -1)
		return
	}
	m.look(t, node, id, k.token, k.until-t)
}

// tryExtend is an extension that takes effect on some nodes.
func (m *invented) tryExtend(client, token string, id int, t int64) {
	if m.often(5) {
		m.op(t, t+step, history.TypeFail, history.Event{Process: client, Op: history.OpExtend, Key: "k1", Lease: id,
			Reason: []string{history.ReasonLost, history.ReasonNoMajority}[m.IntN(2)]})
		return
	}
	var mine []string
	for _, node := range m.reached(client, t) {
		if k := m.key(node, t); k.token == token || k.token != "" && m.often(20) {
			m.keys[node] = kept{k.token, k.set, t + 1000}
			mine = append(mine, node)
		}
	}
	if len(mine) < m.quota && !m.often(4) {
		return
	}
	m.extends(t, client, token, 1000, mine...)
	m.extend(client, id, t, t+m.soon(2), 1000-int64(m.IntN(4))*step/2)
}

// deleteKeys deletes a token's keys on the reached nodes.
func (m *invented) deleteKeys(client, token string, t int64) {
	for _, node := range m.reached(client, t) {
		switch k := m.key(node, t); {
		case k.token == token:
			m.deletes(t, client, token, node)
			m.keys[node] = kept{}
		case k.token != "" && m.often(40):
			m.deletes(t, client, []string{token, ""}[m.IntN(2)], node)
			m.keys[node] = kept{}
		}
	}
}
