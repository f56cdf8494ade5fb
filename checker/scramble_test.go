package checker

import (
	"fmt"
	"math/rand/v2"

	"example.org/lockproof/harness/history"
)

// scrambled is a history that makes little sense as a run of a lock: clients do anything that a history can record, and
// get any reply.
type scrambled struct {
	*story
	*rand.Rand
	now      int64
	held     map[string]history.Event // the ok of a client's latest acquire
	gone     map[string]bool          // clients that are dead, or have an operation under way
	versions map[string][]string      // by key
	tokens   int64
}

// Scramble makes up a history, for the second checker, which sees the first only from outside.
func Scramble(seed uint64) []history.Event {
	m := &scrambled{story: newStory(), Rand: rand.New(rand.NewPCG(seed, 16)), held: map[string]history.Event{},
		gone: map[string]bool{}, versions: map[string][]string{"k1": {""}, "k2": {""}}}
	m.header.TTL, m.header.Bounds = 10*ms, history.Bounds{Cancel: 2 * ms}
	m.header.Fencing, m.header.FencedStore = m.one(2), m.one(2)
	for range 3 + m.IntN(16) {
		m.turn()
	}
	return m.end(m.now + 1)
}

func (m *scrambled) one(in int) bool { return m.IntN(in) == 0 }

func (m *scrambled) later(than int) { m.now += int64(m.IntN(than)) }

// turn is some client's next action.
func (m *scrambled) turn() {
	m.later(4)
	if client := fmt.Sprintf("c%d", 1+m.IntN(3)); !m.gone[client] {
		m.step(client)
	}
}

// step is one random action of a client.
func (m *scrambled) step(client string) {
	l := m.held[client]
	about := history.Event{Process: client, Key: l.Key, Lease: l.ID}
	switch held := l.ID != 0; {
	case !held && m.one(2), m.one(4):
		m.acquire(client)
	case m.one(9):
		m.clock(m.now, client, m.now+int64(m.IntN(17)-8), []float64{1, 0.5, 2}[m.IntN(3)], m.one(2))
	case m.one(20):
		m.gone[client] = true
		m.instant(m.now, "kill", client)
	case held && m.one(4):
		about.Op = history.OpExtend
		if m.one(3) {
			about.Reason = []string{history.ReasonLost, history.ReasonNoMajority}[m.IntN(2)]
			m.operation(about, history.TypeFail)
			return
		}
		about.Validity, about.Wall = int64(m.IntN(6))*ms, m.one(3)
		m.operation(about, history.TypeOK)
	case held && m.one(6):
		about.Type = history.TypeLost
		m.add(m.now, about)
	case held && m.one(3):
		about.Op = history.OpRelease
		m.operation(about, history.TypeOK)
	default:
		m.access(client, l)
	}
}

// operation is an operation with its outcome, which may be missing, and what happens in between.
func (m *scrambled) operation(e history.Event, outcome history.Type, between ...func()) (answered bool) {
	e.ID = m.invoke(m.now, e)
	m.gone[e.Process] = true
	if m.one(3) {
		m.turn()
	}
	for _, happens := range between {
		happens()
	}
	if m.one(3) {
		m.turn()
	}
	delete(m.gone, e.Process)
	m.giveUp(e.Process)
	if m.one(12) {
		return false
	}
	m.later(3)
	e.Type = outcome
	m.add(m.now, e)
	return true
}

// giveUp sometimes cancels a client's operation, which may continue, and may be paused as well.
func (m *scrambled) giveUp(client string) {
	if !m.one(16) {
		return
	}
	m.cancel(m.now, client)
	if paused, from := m.one(3), m.now; paused {
		m.later(6)
		m.lasting(from, m.now, "pause", client)
		m.later(4)
	} else {
		m.later(6)
	}
}

func (m *scrambled) acquire(client string) {
	e := history.Event{Process: client, Op: history.OpAcquire, Key: []string{"k1", "k1", "k2"}[m.IntN(3)]}
	if m.one(4) {
		e.Reason = history.ReasonHeld
		m.operation(e, history.TypeFail)
		return
	}
	m.tokens += int64(m.IntN(8)+1) / 4 // sometimes no new one
	e.Fence = max(0, m.tokens-int64(m.IntN(9)/8*2))
	e.Validity, e.Wall = int64(m.IntN(5))*ms, m.one(3)
	if m.operation(e, history.TypeOK) {
		e.ID = m.ids[client]
		m.held[client] = e
	}
}

// access reads or writes, mostly plausibly.
func (m *scrambled) access(client string, l history.Event) {
	e := history.Event{Process: client, Op: history.OpRead, Key: l.Key, Lease: l.ID, Fence: l.Fence}
	if e.Key == "" {
		e.Key = "k1"
	}
	known := m.versions[e.Key]
	latest := known[len(known)-1]
	if m.one(6) {
		latest = known[m.IntN(len(known))]
	}
	outcome := []history.Type{history.TypeOK, history.TypeOK, history.TypeOK, history.TypeFail,
		history.TypeInfo}[m.IntN(5)]
	if m.one(2) {
		e.Value = latest
		m.operation(e, outcome)
		return
	}
	e.Op, e.Value, e.Base = history.OpWrite, fmt.Sprintf("%s-%d", client, m.ids[client]+1), latest
	m.operation(e, outcome, func() { m.reaches(e, outcome == history.TypeOK || m.one(2)) })
	if outcome == history.TypeOK || outcome == history.TypeInfo && m.one(2) {
		m.versions[e.Key] = append(m.versions[e.Key], e.Value)
	}
}

// reaches is what the store's link shows of a write, which may be nothing.
func (m *scrambled) reaches(e history.Event, passes bool) {
	if m.one(3) {
		return
	}
	m.later(3)
	answer := m.command(m.now, e.Process+">store", history.Command{Name: "SET", Key: "value:" + e.Key, Token: e.Value,
		Effect: history.EffectSet, Unconditional: true})
	if !m.one(8) {
		m.later(2)
		answer(m.now, "OK", passes)
	}
}
