package checker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// The safety verdicts, and that on cancelled acquires, on made-up histories, most of which make little sense as runs
// of a lock, are those of the second checker.
func TestGeneratedHistories_OraclesAgree(t *testing.T) {
	histories := 100_000
	if testing.Short() {
		histories = 2_000
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		count = map[string]int{}
	)
	for worker := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := worker; seed < histories && !t.Failed(); seed += runtime.GOMAXPROCS(0) {
				text := madeUp(uint64(seed))
				found, ok := compare(t, fmt.Sprint("seed ", seed), text)
				mu.Lock()
				count[found]++
				mu.Unlock()
				if !ok {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, found := range []string{"", "mutual-exclusion", "protected-data", "fencing", "cancellation"} {
		require.Greater(t, count[found], histories/200, "hardly any history breaks just this: %q of %v", found, count)
	}
}

// The published histories are judged as by the second checker.
func TestPublishedHistories_OraclesAgree(t *testing.T) {
	files, err := filepath.Glob("../reports/published/virtual/trials/*/*/history.jsonl")
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	violated := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if testing.Short() && len(text) > 300_000 {
			continue
		}
		found, ok := compare(t, file, text)
		if !ok {
			return
		}
		if found != "" {
			violated++
		}
	}
	require.Greater(t, violated, 20)
}

// compare has both checkers judge a history. It gives the properties that are broken.
func compare(t *testing.T, name string, text []byte) (found string, ok bool) {
	events, err := history.Read(bytes.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
		return "", false
	}
	verdict, err := checker.Judge(checker.InMemory(events))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
		return "", false
	}
	lines, err := parse(text)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return "", false
	}
	var ours []string
	for _, property := range []string{checker.Cancellation, checker.Fencing, checker.MutualExclusion, checker.ProtectedData} {
		if verdict.Of(property).Verdict == history.Violated {
			ours = append(ours, property)
		}
	}
	found = broken(lines)
	if strings.Join(ours, " ") != found {
		t.Errorf("%s: the checker finds %q broken, the second one %q\n%.8000s", name, ours, found, text)
		return found, false
	}
	return found, true
}

// invention makes up a history.
type invention struct {
	*rand.Rand
	text bytes.Buffer
	now  int64
	ids  map[string]int
	// held, fenced and seen are what a client's latest acquire gave it, by client.
	held     map[string]int
	fenced   map[string]int64
	key      map[string]string
	dead     map[string]bool
	versions map[string][]string // by key
	tokens   int64
	onItsWay func() // what happens between the next invoke and its outcome
}

// unit is the shortest stretch of time: one in which half as much passes on a clock
// is whole nanoseconds, too.
const unit = 1000

func madeUp(seed uint64) []byte {
	m := &invention{Rand: rand.New(rand.NewPCG(seed, 16)), ids: map[string]int{}, held: map[string]int{}, fenced: map[string]int64{},
		key: map[string]string{}, dead: map[string]bool{}, versions: map[string][]string{"k1": {""}, "k2": {""}}}
	m.say(map[string]any{"process": "harness", "type": "header", "header": history.Header{Version: 1, Cluster: "virtual", TTL: 10 * unit,
		Lock: "made-up", Nodes: []string{"n1"}, Clients: []string{"c1", "c2", "c3"}, Fencing: m.one(2), FencedStore: m.one(2),
		Bounds: history.Bounds{Cancel: 2 * unit}}})
	for range 3 + m.IntN(16) {
		m.now += unit * int64(m.IntN(4))
		client := fmt.Sprintf("c%d", 1+m.IntN(3))
		if m.dead[client] {
			continue
		}
		m.step(client)
	}
	m.now += unit
	m.say(map[string]any{"process": "harness", "type": "end"})
	return m.text.Bytes()
}

func (m *invention) one(in int) bool { return m.IntN(in) == 0 }

func (m *invention) say(fields map[string]any) {
	fields["time"] = m.now
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	m.text.Write(append(text, '\n'))
}

// step has one thing happen to a client.
func (m *invention) step(client string) {
	switch held := m.held[client]; {
	case held == 0 && m.one(2), m.one(4):
		m.acquire(client)
	case m.one(9):
		m.say(map[string]any{"process": client, "type": "clock", "clock": map[string]any{
			"reading": m.now + unit*int64(m.IntN(17)-8), "rate": []float64{1, 0.5, 2}[m.IntN(3)], "wall": m.one(2)}})
	case m.one(20):
		m.dead[client] = true
		m.say(map[string]any{"process": "nemesis", "type": "fault", "fault": map[string]any{
			"id": 1 + len(m.dead), "kind": "kill", "phase": "instant", "targets": []string{client}, "effective": true}})
	case held != 0 && m.one(4):
		m.extend(client, held)
	case held != 0 && m.one(6):
		m.say(map[string]any{"process": client, "type": "lost", "lease": held, "key": m.key[client]})
	case held != 0 && m.one(3):
		m.operation(client, map[string]any{"op": "release", "lease": held, "key": m.key[client]}, "ok", nil)
	default:
		m.access(client)
	}
}

// operation says an invoke and its outcome, which may be missing.
func (m *invention) operation(client string, fields map[string]any, outcome string, more map[string]any) {
	m.ids[client]++
	fields["process"], fields["type"], fields["id"] = client, "invoke", m.ids[client]
	m.say(fields)
	if m.onItsWay != nil {
		m.onItsWay()
		m.onItsWay = nil
	}
	m.giveUp(client)
	if m.one(12) {
		return
	}
	m.now += unit * int64(m.IntN(3))
	fields["type"] = outcome
	for name, value := range more {
		fields[name] = value
	}
	m.say(fields)
}

// giveUp cancels, now and then, what a client has under way, which may then go on, and
// may be paused as well.
func (m *invention) giveUp(client string) {
	if !m.one(16) {
		return
	}
	m.say(map[string]any{"process": client, "type": "cancel"})
	pause := map[string]any{"id": 100 + m.now, "kind": "pause", "phase": "begin", "targets": []string{client}, "effective": true}
	paused := m.one(3)
	if paused {
		m.say(map[string]any{"process": "nemesis", "type": "fault", "fault": pause})
	}
	m.now += unit * int64(m.IntN(6))
	if paused {
		pause["phase"] = "end"
		m.say(map[string]any{"process": "nemesis", "type": "fault", "fault": pause})
		m.now += unit * int64(m.IntN(4))
	}
}

func (m *invention) acquire(client string) {
	key := []string{"k1", "k1", "k2"}[m.IntN(3)]
	fields := map[string]any{"op": "acquire", "key": key}
	if m.one(4) {
		m.operation(client, fields, "fail", map[string]any{"reason": "held"})
		return
	}
	m.tokens += int64(m.IntN(8)+1) / 4 // now and then no new one
	fence := max(0, m.tokens-int64(m.IntN(9)/8*2))
	id, before := m.ids[client]+1, m.text.Len()
	m.operation(client, fields, "ok", map[string]any{"lease": id, "validity": unit * int64(m.IntN(5)), "wall": m.one(3), "fence": fence})
	if bytes.Contains(m.text.Bytes()[before:], []byte(`"type":"ok"`)) {
		m.held[client], m.fenced[client], m.key[client] = id, fence, key
	}
}

func (m *invention) extend(client string, lease int) {
	fields := map[string]any{"op": "extend", "lease": lease, "key": m.key[client]}
	if m.one(3) {
		m.operation(client, fields, "fail", map[string]any{"reason": []string{"lost", "no-majority"}[m.IntN(2)]})
		return
	}
	m.operation(client, fields, "ok", map[string]any{"validity": unit * int64(m.IntN(6)), "wall": m.one(3)})
}

// access reads or writes, most often what makes sense.
func (m *invention) access(client string) {
	key := m.key[client]
	if key == "" {
		key = "k1"
	}
	known := m.versions[key]
	latest := known[len(known)-1]
	if m.one(6) {
		latest = known[m.IntN(len(known))]
	}
	fields := map[string]any{"key": key}
	if m.held[client] != 0 {
		fields["lease"], fields["fence"] = m.held[client], m.fenced[client]
	}
	outcome := []string{"ok", "ok", "ok", "fail", "info"}[m.IntN(5)]
	if m.one(2) {
		fields["op"] = "read"
		m.operation(client, fields, outcome, map[string]any{"value": latest})
		return
	}
	version := fmt.Sprintf("%s-%d", client, m.ids[client]+1)
	fields["op"], fields["value"], fields["base"] = "write", version, latest
	m.onItsWay = func() { m.stored(client, key, version, outcome == "ok" || m.one(2)) }
	m.operation(client, fields, outcome, nil)
	if outcome == "ok" || outcome == "info" && m.one(2) {
		m.versions[key] = append(known, version)
	}
}

// stored says what the store's link tells of a write, which may be nothing.
func (m *invention) stored(client, key, version string, passes bool) {
	if m.one(3) {
		return
	}
	command := map[string]any{"serial": m.ids[client], "name": "SET", "key": "value:" + key,
		"token": version, "effect": "set", "plain": true}
	line := map[string]any{"process": client + ">store", "type": "command", "command": command}
	m.now += unit * int64(m.IntN(3))
	m.say(line)
	if m.one(8) {
		return
	}
	m.now += unit * int64(m.IntN(2))
	line["type"], command["done"] = "reply", passes
	m.say(line)
}
