package trial

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
)

var path = filepath.Join("trials", "late-set", "000", "history.jsonl")

func runVirtual(t *testing.T, p *Plan, j *Journal) {
	t.Helper()
	maker, err := virtual.Kind.Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	_, err = Run(t.Context(), p, maker, 0, 1, j)
	require.NoError(t, err)
	require.NoError(t, j.End())
}

// In real time a history is judged from its file. Verdicts, figures, violations and blames are those of the same
// history in memory, also with events that are reported late (fast-servers).
func TestJournal_JudgedFromFileAsFromMemory(t *testing.T) {
	for _, name := range []string{"healthy-contention", "clock-jump-forward", "late-set", "client-pause", "flushall",
		"fast-servers"} {
		t.Run(name, func(t *testing.T) {
			short, err := NewJournal(JournalOptions{Root: t.TempDir(), Path: path, Virtual: true})
			require.NoError(t, err)
			runVirtual(t, planned(t, Job{Scenario: load(t, name)}, virtual.Kind, 0), short)
			_, err = short.KeepOrRemove(true)
			require.NoError(t, err)
			file, err := os.Open(short.name())
			require.NoError(t, err)
			read, err := history.Read(file)
			require.NoError(t, errors.Join(err, file.Close()))
			require.Len(t, read, len(short.orderedEvents()))
			for i, e := range short.orderedEvents() {
				require.Equal(t, [3]any{read[i].Process, read[i].Time, read[i].Type}, [3]any{e.Process, e.Time, e.Type}, "event %d",
					i)
			}
			results, err := Judge(short)
			require.NoError(t, err)

			j, err := NewJournal(JournalOptions{Root: t.TempDir(), Path: path})
			require.NoError(t, err)
			for _, e := range short.orderedEvents() {
				j.Record(e)
			}
			require.NoError(t, j.End())
			require.Empty(t, j.recorded)
			require.Equal(t, short.Position(), j.Position())
			long, err := Judge(j)
			require.NoError(t, err)
			require.Equal(t, results, long)
			require.Equal(t, shortHistoryLines(t, short), shortHistoryLines(t, j))
			kept, err := j.KeepOrRemove(false)
			require.NoError(t, err)
			require.Empty(t, kept)
			require.NoFileExists(t, j.name())
			require.NoDirExists(t, filepath.Dir(j.name()))
		})
	}
}

func shortHistoryLines(t *testing.T, j *Journal) string {
	t.Helper()
	events, err := j.ShortHistory()
	require.NoError(t, err)
	var lines strings.Builder
	w := history.NewWriter(&lines)
	for _, e := range events {
		w.Write(e)
	}
	require.NoError(t, w.Close())
	return lines.String()
}

// Here the header cannot be written.
func TestJournal_FileNamedOnceHeaderIsWritten(t *testing.T) {
	to := JournalOptions{Root: t.TempDir(), Path: path}
	j, err := NewJournal(to)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(j.name(), "in the way"), 0o755))
	j.Record(history.Event{Process: "harness", Type: history.TypeHeader,
		Header: &history.Header{Version: history.Version}})
	require.Error(t, j.End())

	left, err := os.ReadDir(filepath.Dir(j.name()))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestJournal_RefusesSymlinks(t *testing.T) {
	header := history.Event{Process: "harness", Type: history.TypeHeader,
		Header: &history.Header{Version: history.Version}}
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o644))

	to := JournalOptions{Root: t.TempDir(), Path: path}
	for _, name := range []string{"history.jsonl", "history.jsonl" + NewSuffix} {
		trial := filepath.Join(to.Root, "trials", "late-set", "000")
		require.NoError(t, os.MkdirAll(trial, 0o755))
		require.NoError(t, os.Symlink(precious, filepath.Join(trial, name)))
		j, err := NewJournal(to)
		require.NoError(t, err)
		j.Record(header)
		require.NoError(t, j.End())
		info, err := os.Lstat(j.name())
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
		require.NoFileExists(t, j.name()+NewSuffix)
	}

	require.NoError(t, os.RemoveAll(filepath.Join(to.Root, "trials")))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(to.Root, "trials")))
	_, err := NewJournal(to)
	require.ErrorContains(t, err, "escapes")

	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Len(t, left, 1)
	data, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
}

func note(time int64, process, text string) history.Event {
	return history.Event{Time: time, Process: process, Type: history.TypeNote, Text: text}
}

// sorted is a journal's order of these events.
func sorted(events []history.Event) []history.Event {
	j := &Journal{}
	for _, e := range events {
		j.Record(e)
	}
	return j.orderedEvents()
}

func TestJournal_SameInstant_HeaderFirstEndLast(t *testing.T) {
	var got []string
	for _, e := range sorted([]history.Event{
		note(0, "c1", "first command"),
		{Process: "harness", Type: history.TypeHeader, Text: "header"},
		{Process: "a", Type: history.TypeEnd, Text: "end"},
		note(0, "z", "last"),
	}) {
		got = append(got, e.Text)
	}
	require.Equal(t, []string{"header", "first command", "last", "end"}, got)
}

func TestJournal_LateEvent_GoesBehindItsInstant(t *testing.T) {
	var got []string
	for _, e := range sorted([]history.Event{note(1, "n2", "first"), note(2, "c1", "second"), note(1, "c9", "late"),
		note(1, "c8", "late, too"), note(3, "c1", "third")}) {
		got = append(got, e.Text)
	}
	require.Equal(t, []string{"first", "late, too", "late", "second", "third"}, got)
}

func TestJournal_OrderOfGoroutines_DoesNotChangeHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		processes := []string{"c1", "c2", "n1", "c1>n1", "harness"}
		instants := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 8).Draw(rt, "events per process and instant")
		seed := rapid.Uint64().Draw(rt, "seed")
		render := func(rng *rand.Rand) []history.Event {
			var events []history.Event
			for instant, n := range instants {
				turns := slices.Repeat(processes, n)
				rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
				count := map[string]int{}
				for _, p := range turns {
					count[p]++
					events = append(events, note(int64(instant), p, strconv.Itoa(count[p])))
				}
			}
			return sorted(events)
		}
		require.Equal(rt, render(rand.New(rand.NewPCG(seed, 1))), render(rand.New(rand.NewPCG(seed, 2))))
	})
}

// The first lines reach a file with NewSuffix. The header comes first, even if events precede it.
func TestJournal_FileNamedWithFirstLines(t *testing.T) {
	to := JournalOptions{Root: t.TempDir(), Path: path}
	j, err := NewJournal(to)
	require.NoError(t, err)
	j.Record(note(0, "n1", "the cluster comes up"))
	require.NoFileExists(t, j.name())
	j.Record(history.Event{Process: "harness", Type: history.TypeHeader,
		Header: &history.Header{Version: history.Version}})
	j.Record(note(1, "n1", "it goes on"))
	file, err := os.Open(j.name())
	require.NoError(t, err)
	defer file.Close()
	read, err := history.Read(file)
	require.NoError(t, err)
	require.Equal(t, []history.Type{history.TypeHeader, history.TypeNote, history.TypeNote},
		[]history.Type{read[0].Type, read[1].Type, read[2].Type})
	require.NoFileExists(t, j.name()+NewSuffix)
	require.NoError(t, j.End())
}

func TestJournal_TooManyEvents_EndTheTrial(t *testing.T) {
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	require.Equal(t, maxVirtualEvents, j.limit)
	j.limit = 1000
	maker, err := virtual.Kind.Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	_, err = Run(t.Context(), planned(t, Job{Scenario: load(t, "healthy-contention")}, virtual.Kind, 0), maker,
		0, 1, j)
	require.ErrorContains(t, err, "more than 1000 events in ")
	require.Less(t, len(j.recorded), 2001)
}

func TestShortHistory_LongHistory_HasNone(t *testing.T) {
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	for range maxShortHistory {
		j.Record(history.Event{Type: history.TypeNote})
	}
	events, err := j.ShortHistory()
	require.NoError(t, err)
	require.Len(t, events, maxShortHistory)
	j.Record(history.Event{Type: history.TypeNote})
	events, err = j.ShortHistory()
	require.NoError(t, err)
	require.Nil(t, events)
}
