package history

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/internal/input"
)

// each collects what a file hands out.
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

// A file hands out what Read returns, however late its lines stand, and as
// often as it is asked.
func TestFile_HandsOutWhatReadReturns(t *testing.T) {
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

// A line has a bound, however the file is read; most of it need not be there.
func TestLine_IsBoundedHoweverTheFileIsRead(t *testing.T) {
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

// Events that stand too late are held in memory: not any number of them.
func TestOpenFile_TooManyLateEventsAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	text := strings.Repeat("x", input.Line/2)
	first := fmt.Sprintf(`{"time":9,"process":"c1","type":"note","text":%q}`+"\n", text)
	late := fmt.Sprintf(`{"time":1,"process":"c1","type":"note","text":%q}`+"\n", text)
	require.NoError(t, os.WriteFile(name, []byte(headerLine+first+strings.Repeat(late, 40)), 0o600))
	_, err := OpenFile(name)
	require.ErrorContains(t, err, "more than 16 MB of events stand behind later ones: sort the lines by their times")
}
