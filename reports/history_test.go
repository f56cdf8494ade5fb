package reports

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const contradictory = `{"time":0,"process":"harness","type":"header","header":{"version":1,"nodes":[],"clients":["c1"]}}
{"time":9,"process":"harness","type":"note","text":"late"}
`

// The line is the file's, whatever the order of the times: events have no number that a reader can find.
func TestOpenHistory_ContradictoryEvents_ErrorNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(contradictory+
		`{"time":5,"process":"c1","type":"ok","op":"acquire","id":1}`+"\n"), 0o600))
	_, err := OpenHistory(path)
	require.EqualError(t, err, path+":3: ok of c1's operation 1 (acquire), which has no invoke, or ended before")
}

func TestVerdict_TwoWritesOfOneVersion_ErrorNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(contradictory+
		`{"time":5,"process":"c1","type":"invoke","op":"write","id":1,"key":"k1","value":"a"}`+"\n"+
		`{"time":6,"process":"c1","type":"invoke","op":"write","id":2,"key":"k1","value":"a"}`+"\n"), 0o600))
	h, err := OpenHistory(path)
	require.NoError(t, err)
	_, err = h.Verdict()
	require.ErrorContains(t, NameHistory(path, err), path+":4: c1 writes a")
}
