package html

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

const ms = int64(time.Millisecond)

// words are the fixture's texts from files, locks and servers. A test replaces one of them by markup.
type words map[string]string

// word returns a field's text; the default is unique.
func (w words) word(field string) string {
	if text, ok := w[field]; ok {
		return text
	}
	return "the-" + strings.ReplaceAll(field, " ", "-")
}

// overlapping is a history in which c1 and c2 hold a lock at the same time, after a fault. The store rejects c2's
// write.
func (w words) overlapping() []history.Event {
	client, node, key := w.word("client"), w.word("node"), w.word("key")
	operation := func(at int64, process string, kind history.Type, e history.Event) history.Event {
		e.Time, e.Process, e.Type, e.Key = at*ms, process, kind, key
		return e
	}
	acquire := history.Event{Op: history.OpAcquire, ID: 1}
	granted := history.Event{Op: history.OpAcquire, ID: 1, Validity: 900 * ms, Token: w.word("token")}
	other := granted
	other.Token = "another"
	taken := history.Command{Serial: 1, Name: w.word("command"), Key: key, Token: w.word("token"),
		Effect: history.EffectSet,
		Expiry: 1000 * ms, Reply: w.word("reply"), Done: true}
	return []history.Event{
		{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version,
			Scenario: w.word("scenario"),
			Clients:  []string{client, "c2"}, Nodes: []string{node, "n2"}, TTL: 1000 * ms,
			Expect: map[string]string{checker.MutualExclusion: history.Violated}}},
		{Process: "nemesis", Type: history.TypeFault,
			Fault: &history.Fault{ID: 9, Kind: "cut", Class: history.LinkCut, Phase: history.PhaseBegin,
				Targets: []string{w.word("setting") + "-n2"}, Effective: true, Background: true}},
		operation(5, client, history.TypeInvoke, acquire),
		{Time: 8 * ms, Process: client + ">" + node, Type: history.TypeReply, Key: key, Command: &taken},
		operation(10, client, history.TypeOK, granted),
		{Time: 12 * ms, Process: "nemesis", Type: history.TypeFault, Fault: &history.Fault{ID: 1, Kind: w.word("fault kind"),
			Class: history.NodeClock, Past: w.word("fault was"), Phase: history.PhaseInstant,
			Targets: []string{w.word("fault target")}, Effective: true,
			Asked: history.Asked{Command: w.word("asked")}, Measured: map[string]string{"so": w.word("measured")}}},
		{Time: 13 * ms, Process: node, Type: history.TypeNode, Node: &history.Node{Up: true,
			Keys: map[string]history.KeyState{key: {Token: w.word("found token"), TTL: 5 * ms}}}},
		{Time: 14 * ms, Process: "harness", Type: history.TypeNote, Text: w.word("note")},
		operation(20, "c2", history.TypeInvoke, acquire),
		operation(30, "c2", history.TypeOK, other),
		operation(40, "c2", history.TypeInvoke,
			history.Event{Op: history.OpWrite, ID: 2, Lease: 1, Value: w.word("value"), Base: w.word("base")}),
		operation(41, "c2", history.TypeFail,
			history.Event{Op: history.OpWrite, ID: 2, Lease: 1, Value: w.word("value"), Base: w.word("base"),
				Reason: w.word("reason"), Error: w.word("error")}),
		{Time: 1000 * ms, Process: "harness", Type: history.TypeEnd},
	}
}

// report is a run with a violated, a skipped and a failed scenario, and with histories in a folder.
func (w words) report(t testing.TB) (*reports.Report, []*scenarios.Scenario) {
	out := t.TempDir()
	writeHistory(t, filepath.Join(out, "trials", "it", "000", "history.jsonl"), w.overlapping())
	writeHistory(t, filepath.Join(out, "trials", "fine", "000", "history.jsonl"), words{}.overlapping()[:6])
	violated := suite.Result{
		Scenario: w.word("scenario"), Variant: w.word("variant"), Cluster: w.word("cluster"), Lock: w.word("lock"), Seed: 7,
		Expect:  map[string]string{checker.MutualExclusion: history.Holds},
		History: "trials/it/000/history.jsonl",
		Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: history.Violated,
			Violations: []checker.Violation{{
				PointOfNoReturn: new(12 * ms),
				Key:             w.word("key"), From: 30 * ms, Until: 910 * ms, Processes: []string{w.word("client"), "c2"},
				What: w.word("what"),
				Facts: []checker.Fact{{Time: 12 * ms, Process: w.word("fault target"), Event: 5, What: w.word("broke") +
					w.word("why")}},
				Leases: []checker.Lease{
					{Client: w.word("client"), ID: 1, Key: w.word("key"), Asked: 5 * ms, From: 10 * ms, Until: 910 * ms,
						Ended: "deadline"},
					{Client: "c2", ID: 1, Key: w.word("key"), Asked: 20 * ms, From: 30 * ms, Until: 930 * ms, Ended: "deadline"},
				},
			}}}},
	}
	unreadable := violated
	unreadable.Variant, unreadable.History = "no file", w.word("file")
	report := reports.New([]suite.Result{
		violated, unreadable,
		{Scenario: "bare", Lock: "redlock", Without: []string{w.word("rule")},
			Expect: map[string]string{w.word("property"): history.Holds}},
		{Scenario: w.word("skipped scenario"), Skipped: w.word("skipped")},
		{Scenario: "broken", Failure: w.word("failure")},
		{Scenario: "fine", Expect: map[string]string{checker.MutualExclusion: history.Holds},
			History: "trials/fine/000/history.jsonl",
			Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: history.Holds}}},
	}, reports.Run{Version: w.word("version"), Go: w.word("go"), Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Elapsed: 40 * time.Millisecond, Options: suite.Options{Out: out, Cluster: "virtual", Trials: 1, Seed: 7,
			Lock: w.word("chosen lock")}})
	return report, []*scenarios.Scenario{{Name: w.word("scenario"), Title: w.word("title"), Lesson: w.word("lesson"),
		Source: []string{w.word("source")}}}
}

// writeHistory writes a history.
func writeHistory(t testing.TB, path string, events []history.Event) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	for _, e := range events {
		require.NoError(t, encoder.Encode(e))
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
}

func written(t testing.TB, r *reports.Report, catalogue []*scenarios.Scenario) string {
	var b strings.Builder
	require.NoError(t, Write(&b, r, catalogue))
	return b.String()
}

// crowded is a run of one trial with the given number of events: two clients share a lock, and in the middle both hold
// it.
func crowded(t testing.TB, events int) *reports.Report {
	h := history.Header{Version: history.Version, Scenario: "crowded", Clients: []string{"c1", "c2"},
		Nodes: []string{"n1", "n2", "n3"}, TTL: 100 * ms}
	all := []history.Event{{Process: "harness", Type: history.TypeHeader, Header: &h}}
	at, id := int64(0), 0
	for len(all) < events-1 {
		id++
		client := h.Clients[id%2]
		length := 20 * ms
		if len(all) > events/2 && len(all) <= events/2+10 {
			length = 60 * ms
		}
		all = append(all, history.Event{Time: at, Process: client, Type: history.TypeInvoke, Op: history.OpAcquire, ID: id,
			Key: "k1"})
		for i, node := range h.Nodes {
			c := history.Command{Serial: int64(id), Name: "SET", Key: "k1", Token: fmt.Sprint("t", id), Expiry: length,
				Effect: history.EffectSet, Reply: "OK", Done: true}
			all = append(all, history.Event{Time: at + int64(i+1)*1000, Process: client + ">" + node,
				Type: history.TypeReply, Key: "k1", Command: &c})
		}
		all = append(all, history.Event{Time: at + ms, Process: client, Type: history.TypeOK, Op: history.OpAcquire,
			ID: id, Key: "k1", Token: fmt.Sprint("t", id), Validity: length})
		at += 30 * ms
	}
	all = append(all, history.Event{Time: at, Process: "harness", Type: history.TypeEnd})
	out := t.TempDir()
	writeHistory(t, filepath.Join(out, "trials", "crowded", "000", "history.jsonl"), all)
	read, err := checker.Read(checker.InMemory(all))
	require.NoError(t, err)
	verdict, err := read.Verdict()
	require.NoError(t, err)
	trial := reports.TrialOf(verdict)
	trial.History = "trials/crowded/000/history.jsonl"
	return reports.New([]suite.Result{trial}, reports.Run{Options: suite.Options{Out: out}})
}
