package history

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// calls keeps each Write call apart, to see what one call handed over.
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

func TestWriterIsSafeForConcurrentUse(t *testing.T) {
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

func TestCloseTwiceAndWriteAfterClose(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	require.NoError(t, w.Close())
	w.Write(note(1, "c1", "too late"))
	require.ErrorIs(t, w.Close(), ErrClosed)
	require.Empty(t, out.String())
}

// typical is one successful acquire as a client and its links tell it.
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
