package history

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/internal/golden"
	"example.org/lockproof/internal/input"
	"example.org/lockproof/internal/input/inputtest"
)

const headerLine = `{"time":0,"process":"harness","type":"header","header":{"version":1,"scenario":"client-pause",` +
	`"cluster":"virtual",` +
	`"seed":1,"trial":1,"lock":"redlock","ttl":1000000000,"nodes":["n1"],"clients":["c1"],"real_time":false,` +
	`"expect":{"mutual-exclusion":"holds"},"bounds":{"free":1,"grant":1},` +
	`"earned":{"grants":1,"contended":0,"faults":0}}}` + "\n"

func TestRead_SortsByTimeAndKeepsOrderOfAnInstant(t *testing.T) {
	late := strings.Replace(headerLine, `"time":0`, `"time":50`, 1)
	events, err := Read(strings.NewReader(late +
		`{"time":9,"process":"c1","type":"note","text":"last"}` + "\n" +
		`{"time":4,"process":"c2","type":"note","text":"b"}` + "\n" +
		`{"time":4,"process":"c1","type":"note","text":"c"}` + "\n" +
		`{"time":0,"process":"c1","type":"note","text":"a"}` + "\n"))
	require.NoError(t, err)
	var got []string
	for _, e := range events[1:] {
		got = append(got, e.Text)
	}
	require.Equal(t, []string{"a", "b", "c", "last"}, got)
	require.Equal(t, TypeHeader, events[0].Type)
	require.Equal(t, "client-pause", events[0].Header.Scenario)
}

func TestRead_TruncatedHistory(t *testing.T) {
	whole := headerLine + `{"time":4,"process":"c1","type":"note","text":"seen"}` + "\n"
	next := `{"time":5,"process":"c1","type":"note","text":"cut"}`
	for length := 1; length < len(next); length++ {
		events, err := Read(strings.NewReader(whole + next[:length]))
		var cut *Truncated
		require.ErrorAs(t, err, &cut, "cut after %d bytes", length)
		require.EqualError(t, cut, "line 3 is cut short: the run was killed while it wrote this line; the lines before it "+
			"are whole")
		require.Len(t, events, 2)
		require.Equal(t, "seen", events[1].Text)
	}
	events, err := Read(strings.NewReader(whole + next))
	require.NoError(t, err, "only the newline is missing: the event is whole")
	require.Len(t, events, 3)
}

func TestRead_WrittenEvents_AreEqual(t *testing.T) {
	events := append([]Event{{Process: "harness", Type: TypeHeader, Header: &Header{Version: Version,
		Nodes: []string{"n1"}, Clients: []string{"c1"}, Expect: map[string]string{"mutual-exclusion": Holds}}}}, typical()...)
	events = append(events, Event{Time: 2e9, Process: "n1", Type: TypeNode,
		Node: &Node{Up: true, RunID: "ab", Keys: map[string]KeyState{"k1": {Token: "t", TTL: -1}}}})
	got, err := Read(strings.NewReader(written(t, events...)))
	require.NoError(t, err)
	require.Equal(t, events, got)
}

// Each testdata/bad/NAME.jsonl is broken in one way; NAME.err is the reader's error, for a human to check that it
// helps.
func TestRead_BadHistories_ErrorsSayWhatIsAccepted(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.jsonl")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 12)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			events, err := Read(bytes.NewReader(data))
			require.Error(t, err)
			require.Empty(t, events)
			_, fileErr := each(t, file)
			require.EqualError(t, fileErr, err.Error())
			golden.Require(t, strings.TrimSuffix(file, ".jsonl")+".err", err.Error()+"\n")
		})
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.jsonl")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(headerLine +
		`{"time":4,"process":"c1>n1","type":"reply","command":{"serial":1,"name":"SET","done":true}}` + "\n"))
	f.Add([]byte(headerLine + strings.Repeat(`{"header":`, 100_000)))
	f.Add([]byte(headerLine + strings.Repeat("x", 3<<20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var events []Event
		var err error
		inputtest.Bounded(t, len(data), func() { events, err = Read(bytes.NewReader(data)) })
		if len(events) == 0 {
			require.Error(t, err, "no events and no error: a history has a header at least")
			return
		}
		again, err := Read(strings.NewReader(written(t, events...)))
		require.NoError(t, err, "what Read accepts can be written and read again")
		require.Len(t, again, len(events))
	})
}

func BenchmarkRead(b *testing.B) {
	var data bytes.Buffer
	data.WriteString(headerLine)
	w := NewWriter(&data)
	for i := range 10_000 {
		e := typical()[i%4]
		e.Time = int64(i)
		w.Write(e)
	}
	require.NoError(b, w.Close())
	b.SetBytes(int64(data.Len()))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

// calls records the argument of each Write call.
type calls struct{ lines []string }

func (c *calls) Write(p []byte) (int, error) {
	c.lines = append(c.lines, string(p))
	return len(p), nil
}

func note(time int64, process, text string) Event {
	return Event{Time: time, Process: process, Type: TypeNote, Text: text}
}

func written(t *testing.T, events ...Event) string {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, e := range events {
		w.Write(e)
	}
	require.NoError(t, w.Close())
	return out.String()
}

func TestWriter_WritesAtOnce(t *testing.T) {
	var out calls
	w := NewWriter(&out)
	w.Write(note(5, "c1", "late worker"))
	require.Len(t, out.lines, 1, "an event is with the OS before Write returns")
	w.Write(note(3, "c2", "earlier, but it came later"))
	require.Equal(t, []string{
		`{"time":5,"process":"c1","type":"note","text":"late worker"}` + "\n",
		`{"time":3,"process":"c2","type":"note","text":"earlier, but it came later"}` + "\n",
	}, out.lines)
}

func TestWriter_ConcurrentUse_KeepsLinesWhole(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				w.Write(note(1, "c1", "x"))
			}
		})
	}
	wg.Wait()
	require.NoError(t, w.Close())
	require.Equal(t, 800, strings.Count(out.String(), `"text":"x"}`+"\n"))
}

type brokenDisk struct{ calls int }

func (b *brokenDisk) Write([]byte) (int, error) {
	b.calls++
	return 0, errors.New("no space left on device")
}

type shortDisk struct{}

func (shortDisk) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestClose_ReturnsFirstFailure(t *testing.T) {
	disk := &brokenDisk{}
	w := NewWriter(disk)
	w.Write(note(1, "c1", "x"))
	w.Write(note(2, "c1", "y"))
	require.EqualError(t, w.Close(), "the history cannot be written: no space left on device")
	require.Equal(t, 1, disk.calls, "nothing follows a line that may be cut")

	w = NewWriter(shortDisk{})
	w.Write(note(1, "c1", "x"))
	require.ErrorIs(t, w.Close(), io.ErrShortWrite)

	w = NewWriter(io.Discard)
	w.Write(Event{Time: 7, Process: "n1", Type: TypeClock, Clock: &Clock{Rate: math.NaN()}})
	require.ErrorContains(t, w.Close(), "the event of n1 at 7 ns cannot be written")
}

func TestClose_Twice_FailsAndLaterWritesAreDropped(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	require.NoError(t, w.Close())
	w.Write(note(1, "c1", "too late"))
	require.ErrorIs(t, w.Close(), ErrClosed)
	require.Empty(t, out.String())
}

// typical are the events of one successful acquire, of its client and links.
func typical() []Event {
	token := "0123456789abcdef0123456789abcdef01234567"
	return []Event{
		{Time: 1203000001, Process: "c1", Type: TypeInvoke, Op: OpAcquire, ID: 17, Key: "k1"},
		{Time: 1203100002, Process: "c1>n1", Type: TypeCommand, Command: &Command{Serial: 40, Name: "SET", Key: "k1",
			Token: token, Expiry: 1000000000, Effect: EffectSet}},
		{Time: 1203200003, Process: "c1>n1", Type: TypeReply, Command: &Command{Serial: 40, Name: "SET", Key: "k1",
			Token: token, Expiry: 1000000000, Effect: EffectSet, Reply: "OK", Done: true}},
		{Time: 1203300004, Process: "c1", Type: TypeOK, Op: OpAcquire, ID: 17, Key: "k1", Token: token, Validity: 987000000},
	}
}

// each collects the events that File.Each visits.
func each(t require.TestingT, name string) ([]Event, error) {
	f, err := OpenFile(name)
	var cut *Truncated
	if err != nil && !errors.As(err, &cut) {
		return nil, err
	}
	var events []Event
	err = f.Each(func(e *Event) error {
		events = append(events, *e)
		return nil
	})
	return events, err
}

// However late its lines are, and repeatedly.
func TestFile_Each_VisitsEventsOfRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		b.WriteString(headerLine)
		w := NewWriter(&b)
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			text := rapid.SampledFrom([]string{"", "a", strings.Repeat("long ", 20_000)}).Draw(t, "text")
			w.Write(Event{Time: rapid.Int64Range(0, 20).Draw(t, "time"), Process: "c1", Type: TypeNote, Text: text})
		}
		require.NoError(t, w.Close())
		cut := b.Bytes()[:b.Len()-rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "cut")]
		require.NoError(t, os.WriteFile(name, cut, 0o600))
		want, wantErr := Read(bytes.NewReader(cut))
		for range 2 {
			got, err := each(t, name)
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
		}
	})
}

func TestFile_VisitorErrorStops(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(headerLine+headerLine), 0o600))
	f, err := OpenFile(name)
	require.NoError(t, err)
	enough := errors.New("enough")
	require.ErrorIs(t, f.Each(func(*Event) error { return enough }), enough)
}

// The file is sparse.
func TestLine_TooLong_FailsInEveryReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(headerLine), 0o600))
	require.NoError(t, os.Truncate(name, 1<<30))
	const want = "line 2: the history cannot be read: the line has more than 1048576 bytes"
	_, err := OpenFile(name)
	require.EqualError(t, err, want)
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	_, err = Read(file)
	require.EqualError(t, err, want)
}

// Late events stay in memory, so their number is bounded.
func TestOpenFile_TooManyLateEvents_Fails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	text := strings.Repeat("x", input.Line/2)
	first := fmt.Sprintf(`{"time":9,"process":"c1","type":"note","text":%q}`+"\n", text)
	late := fmt.Sprintf(`{"time":1,"process":"c1","type":"note","text":%q}`+"\n", text)
	require.NoError(t, os.WriteFile(name, []byte(headerLine+first+strings.Repeat(late, 40)), 0o600))
	_, err := OpenFile(name)
	require.ErrorContains(t, err, "more than 16 MB of events stand behind later ones: a process reports only moments late")
}

// sealed are the lines of a whole history, whose last two share an instant.
func sealed(t *testing.T) []string {
	header := Event{Process: "harness", Type: TypeHeader, Header: &Header{Version: Version}}
	return strings.SplitAfter(strings.TrimSuffix(written(t, header, note(1, "c1", "a"),
		Event{Time: 9, Process: "harness", Type: TypeEnd}, note(3, "c1", "b"), note(2, "c2", "late"), note(3, "c2", "c"),
	), "\n"), "\n")
}

// eachType reads lines as a file, and returns the events' types.
func eachType(t *testing.T, lines ...string) (types []Type, err error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600))
	f, err := OpenFile(name)
	if err != nil {
		return nil, err
	}
	err = f.Each(func(e *Event) error { types = append(types, e.Type); return nil })
	return types, err
}

func TestWriter_EndComesLast_WithTheSumOfTheLines(t *testing.T) {
	lines := sealed(t)
	sum := sha256.Sum256([]byte(strings.Join(lines[:len(lines)-1], "")))
	require.Equal(t, fmt.Sprintf(`{"time":9,"process":"harness","type":"end","sum":"%x"}`, sum), lines[len(lines)-1])
	types, err := eachType(t, lines...)
	require.NoError(t, err)
	require.Equal(t, TypeEnd, types[len(types)-1])
	events, err := Read(strings.NewReader(strings.Join(lines, "")))
	require.NoError(t, err)
	require.Equal(t, TypeEnd, events[len(events)-1].Type)
}

// A line that is left out, doubled, moved or changed, or is behind the end: no such file is read as a whole one.
func TestRead_FileChangedAfterTheRun_IsRefused(t *testing.T) {
	lines := sealed(t)
	last := len(lines) - 1
	changed := map[string][]string{
		"behind the end":             append(slices.Clone(lines), "\n"+strings.TrimSuffix(lines[1], "\n")),
		"an early one behind it":     append(slices.Clone(lines), "\n"+lines[2]),
		"another end":                append(slices.Clone(lines), "\n"+lines[last]),
		"the sum of another history": append(slices.Clone(lines[:last]), strings.ReplaceAll(lines[last], "a", "b")),
	}
	for i, l := range lines[:last] {
		changed[fmt.Sprint("without ", i)] = slices.Delete(slices.Clone(lines), i, i+1)
		changed[fmt.Sprint("twice ", i)] = slices.Insert(slices.Clone(lines), i, l)
		moved := slices.Clone(lines)
		moved[i], moved[(i+1)%last] = moved[(i+1)%last], moved[i]
		changed[fmt.Sprint("moved ", i)] = moved
		edited := slices.Clone(lines)
		edited[i] = strings.Replace(l, `"process":"`, `"process":"x`, 1)
		changed[fmt.Sprint("edited ", i)] = edited
	}
	for name, lines := range changed {
		_, err := eachType(t, lines...)
		var at *LineError
		require.ErrorAs(t, err, &at, name)
		_, err = Read(strings.NewReader(strings.Join(lines, "")))
		require.ErrorAs(t, err, &at, name)
	}
}

func TestRead_EndWithoutSum_IsTakenAtItsWord(t *testing.T) {
	lines := sealed(t)
	types, err := eachType(t, append(lines[:len(lines)-1], `{"time":9,"process":"harness","type":"end"}`+"\n")...)
	require.NoError(t, err)
	require.Equal(t, TypeEnd, types[len(types)-1])
}
