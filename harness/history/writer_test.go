package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

func written(t *testing.T, ordered bool, events ...Event) string {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, ordered)
	for _, e := range events {
		w.Write(e)
	}
	require.NoError(t, w.Close())
	return out.String()
}

func TestWriter_UnorderedWritesAtOnce(t *testing.T) {
	var out calls
	w := NewWriter(&out, false)
	w.Write(note(5, "c1", "late worker"))
	require.Len(t, out.lines, 1, "an event is with the OS before Write returns")
	w.Write(note(3, "c2", "earlier, but it came later"))
	require.Equal(t, []string{
		`{"time":5,"process":"c1","type":"note","text":"late worker"}` + "\n",
		`{"time":3,"process":"c2","type":"note","text":"earlier, but it came later"}` + "\n",
	}, out.lines)
}

func TestWriter_OrderedBuffersOneInstant(t *testing.T) {
	var out calls
	w := NewWriter(&out, true)
	w.Write(note(1, "n2", "a"))
	w.Write(note(1, "c1", "b"))
	w.Write(note(1, "n2", "c"))
	require.Empty(t, out.lines, "the instant is not over")
	w.Write(note(2, "c9", "d"))
	require.Len(t, out.lines, 1)
	require.Equal(t, []string{"b", "a", "c"}, texts(t, out.lines[0]))
	require.NoError(t, w.Close())
	require.Equal(t, []string{"d"}, texts(t, out.lines[1]))
}

func texts(t *testing.T, lines string) []string {
	t.Helper()
	var texts []string
	for line := range strings.Lines(lines) {
		var e Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		texts = append(texts, e.Text)
	}
	return texts
}

func TestHeaderOpensAndEndClosesTheirInstant(t *testing.T) {
	got := written(t, true,
		note(0, "c1", "first command"),
		Event{Process: "harness", Type: TypeHeader, Text: "header"},
		Event{Process: "a", Type: TypeEnd, Text: "end"},
		note(0, "z", "last"))
	require.Equal(t, []string{"header", "first command", "last", "end"}, texts(t, got))
}

// The order in which goroutines run at one instant must not show in the file.
func TestOrderedHistoryDoesNotDependOnTheScheduler(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		processes := []string{"c1", "c2", "n1", "c1>n1", "harness"}
		instants := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 8).Draw(rt, "events per process and instant")
		seed := rapid.Uint64().Draw(rt, "seed")
		render := func(rng *rand.Rand) string {
			var out bytes.Buffer
			w := NewWriter(&out, true)
			for instant, n := range instants {
				var turns []string
				for _, p := range processes {
					for range n {
						turns = append(turns, p)
					}
				}
				rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
				count := map[string]int{}
				for _, p := range turns {
					count[p]++
					w.Write(Event{Time: int64(instant), Process: p, Type: TypeInvoke, Op: OpRead, ID: count[p]})
				}
			}
			require.NoError(rt, w.Close())
			return out.String()
		}
		require.Equal(rt, render(rand.New(rand.NewPCG(seed, 1))), render(rand.New(rand.NewPCG(seed, 2))))
	})
}

func TestWriterIsSafeForConcurrentUse(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, false)
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
	require.Len(t, texts(t, out.String()), 800)
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
	w := NewWriter(disk, false)
	w.Write(note(1, "c1", "x"))
	w.Write(note(2, "c1", "y"))
	require.EqualError(t, w.Close(), "the history cannot be written: no space left on device")
	require.Equal(t, 1, disk.calls, "nothing follows a line that may be cut")

	w = NewWriter(shortDisk{}, true)
	w.Write(note(1, "c1", "x"))
	require.ErrorIs(t, w.Close(), io.ErrShortWrite)

	w = NewWriter(io.Discard, false)
	w.Write(Event{Time: 7, Process: "n1", Type: TypeClock, Clock: &Clock{Rate: math.NaN()}})
	require.ErrorContains(t, w.Close(), "the event of n1 at 7 ns cannot be written")
}

func TestCloseTwiceAndWriteAfterClose(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, true)
	require.NoError(t, w.Close())
	w.Write(note(1, "c1", "too late"))
	require.ErrorIs(t, w.Close(), ErrClosed)
	require.Empty(t, out.String())
}

// fill sets every field of a value, so that a field added to Event and
// forgotten in the encoder is found by the comparison with encoding/json.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(42)
	case reflect.Uint64:
		v.SetUint(math.MaxUint64)
	case reflect.Float64:
		v.SetFloat(1.005)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), text)
		fill(v.Index(1), text)
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(elem, text)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	default:
		panic("fill does not know " + v.Type().String())
	}
}

func asEncodingJSON(t require.TestingT, e Event) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(e))
	return buf.String()
}

func TestEncoderWritesWhatEncodingJSONWrites(t *testing.T) {
	for _, text := range []string{"k1", "", `"quoted" \ <b>&`, "tab\tnul\x00", "größer", "bad \xff utf-8", "\x7f", "\u2028"} {
		var e Event
		fill(reflect.ValueOf(&e).Elem(), text)
		line, err := appendEvent(nil, &e)
		require.NoError(t, err)
		require.Equal(t, asEncodingJSON(t, e), string(line))
	}
	rapid.Check(t, func(rt *rapid.T) {
		e := rapid.Make[Event]().Draw(rt, "event")
		line, err := appendEvent([]byte("kept"), &e)
		require.NoError(rt, err)
		require.Equal(rt, "kept"+asEncodingJSON(rt, e), string(line))
	})
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

func BenchmarkWriter(b *testing.B) {
	for _, mode := range []struct {
		name    string
		ordered bool
	}{{"unordered", false}, {"ordered", true}} {
		b.Run(mode.name, func(b *testing.B) {
			events := typical()
			w := NewWriter(io.Discard, mode.ordered)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e := events[i%len(events)]
				e.Time = int64(i)
				w.Write(e)
			}
		})
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	events := typical()
	enc := json.NewEncoder(io.Discard)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := enc.Encode(events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
	}
}
