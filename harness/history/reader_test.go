package history

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/input/inputtest"
)

var update = flag.Bool("update", false, "write the golden files of testdata/bad anew")

const headerLine = `{"time":0,"process":"harness","type":"header","header":{"version":1,"scenario":"client-pause",` +
	`"cluster":"virtual",` +
	`"seed":1,"trial":1,"lock":"redlock","ttl":1000000000,"nodes":["n1"],"clients":["c1"],"real_time":false,` +
	`"expect":{"mutual-exclusion":"holds"},"bounds":{"free":1,"grant":1},` +
	`"earned":{"grants":1,"contended":0,"faults":0}}}` + "\n"

func TestReadSortsByTimeBehindTheHeaderAndKeepsTheOrderOfAnInstant(t *testing.T) {
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

func TestReadBackWhatWasWritten(t *testing.T) {
	events := append([]Event{{Process: "harness", Type: TypeHeader, Header: &Header{Version: Version,
		Nodes: []string{"n1"}, Clients: []string{"c1"}, Expect: map[string]string{"mutual-exclusion": Holds}}}}, typical()...)
	events = append(events, Event{Time: 2e9, Process: "n1", Type: TypeNode,
		Node: &Node{Up: true, RunID: "ab", Keys: map[string]KeyState{"k1": {Token: "t", TTL: -1}}}})
	got, err := Read(strings.NewReader(written(t, events...)))
	require.NoError(t, err)
	require.Equal(t, events, got)
}

// Each testdata/bad/NAME.jsonl is broken in one way; NAME.err is what the
// reader says to it, to be read by eye: it must help.
func TestRead_BadHistories_SayWhatWouldBeRight(t *testing.T) {
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
			golden := strings.TrimSuffix(file, ".jsonl") + ".err"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
			}
			want, readErr := os.ReadFile(golden)
			require.NoError(t, readErr)
			require.Equal(t, string(want), err.Error()+"\n")
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
