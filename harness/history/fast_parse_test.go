package history

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// asJSON requires that a line that is read as a plain one is read alike by
// encoding/json, and says whether it was.
func asJSON(t require.TestingT, line []byte) bool {
	e, plain := parseFast(line)
	if !plain {
		return false
	}
	want, err := parseJSON(line)
	require.NoError(t, err, "%s", line)
	require.Equal(t, want, e, "%s", line)
	return true
}

func TestParseFast_AgreesWithEncodingJSON(t *testing.T) {
	stored := Event{Time: 1204200900, Process: "c1>store", Type: TypeCommand, Command: &Command{Serial: 7, Name: "EVALSHA",
		Key: "value:k1", Token: "c1-19", Effect: EffectSet, Fence: 4, Base: "c2-9"}}
	for _, e := range append(typical(), stored) {
		line, err := appendEvent(nil, &e)
		require.NoError(t, err)
		require.True(t, asJSON(t, line), "this is not encoding/json's to read: %s", line)
	}
	rapid.Check(t, func(rt *rapid.T) {
		e := rapid.Make[Event]().Draw(rt, "event")
		if rapid.Bool().Draw(rt, "without the rare parts") {
			e.Fault, e.Node, e.Clock, e.Header, e.Late = nil, nil, nil, nil, 0
		}
		line, err := appendEvent(nil, &e)
		if err != nil {
			return // a rate that is no number, which no line can say
		}
		asJSON(rt, line)
		asJSON(rt, damaged(rt, line))
	})
}

// damaged changes a few bytes of a line to others that mean something in JSON.
func damaged(t *rapid.T, line []byte) []byte {
	line = bytes.Clone(line)
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		at := rapid.IntRange(0, len(line)-1).Draw(t, "at")
		line[at] = rapid.SampledFrom([]byte("\"\\{}[]:,-+.0123456789eEtruefalsn \n\x00\x7f\xff")).Draw(t, "byte")
	}
	return line
}

func TestParseFast_LeavesOtherLines(t *testing.T) {
	const begin, end = `{"time":`, `,"process":"c1","type":"note"}`
	require.True(t, asJSON(t, []byte(begin+`-999999999999999999`+end)))
	for _, number := range []string{
		``, `-`, `+1`, `01`, `-01`, `1.0`, `1e3`, `0x1`, `1_0`, ` 1`, `1 `, `"1"`, `null`,
		`9223372036854775808`, `-9223372036854775809`, `1000000000000000000000000000`,
	} {
		require.False(t, asJSON(t, []byte(begin+number+end)), "%s", number)
	}
	for _, line := range []string{
		``, `{}`, `null`, begin + `1`, begin + `1` + end + end, begin + `1` + end + "\n\n", begin + `1` + end + "\r\n",
		begin + `1,"process":"c1","type":"note","text":"a\"b"}`, begin + `1,"process":"c1","type":"note","text":"a` + "\t" + `b"}`,
		begin + `1,"process":"c1","type":"note","text":"é"}`, begin + `1,"process":"c1","type":"note","text":"cut`,
		begin + `1,"type":"note","process":"c1"}`, begin + `1,"process":"c1","type":"note","Text":"a"}`,
		begin + `1,"process":"c1","type":"note","text":"a","text":"b"}`, begin + `1,"process":"c1","type":"note","late":1}`,
		begin + `1,"process":"c1","type":"ok","wall":false}`, begin + `1,"process":"c1","type":"command","command":null}`,
	} {
		require.False(t, asJSON(t, []byte(line)), "%s", line)
	}
}

func FuzzParseFast(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.jsonl")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		for line := range bytes.Lines(data) {
			f.Add(line)
		}
	}
	for _, e := range typical() {
		line, err := appendEvent(nil, &e)
		require.NoError(f, err)
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) { asJSON(t, line) })
}
