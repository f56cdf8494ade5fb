package history

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestText_BytesThatAreNotUTF8StayDistinct(t *testing.T) {
	require.Equal(t, "token", asText("token"))
	require.Equal(t, "bytes:ff01", asText("\xff\x01"))
	require.NotEqual(t, asText("\xff"), asText("\xfe"))
	require.Equal(t, asText("\xff"), asText(asText("\xff")), "a worker and the journal may both make it text")
}

// What is judged in memory is what the file says.
func TestMakeText_EventEqualsWhatIsReadBack(t *testing.T) {
	shared := &Command{Serial: 1, Name: "SET", Key: "k1", Token: "\xff\x01", Effect: EffectSet, Reply: "\xfe"}
	events := []Event{
		{Process: "c1", Type: TypeOK, Op: OpAcquire, Key: "k\xff", Token: "\xff\x01"},
		{Process: "c1>n1", Type: TypeReply, Key: "k1", Command: shared},
		{Process: "n1", Type: TypeNode, Node: &Node{Up: true, Keys: map[string]KeyState{"k1": {Token: "\xff\x01", TTL: 1}}}},
	}
	for _, e := range events {
		e.MakeText()
		line, err := lineOf(&e)
		require.NoError(t, err)
		require.False(t, bytes.Contains(line, []byte("\\ufffd")) || bytes.Contains(line, []byte("\xef\xbf\xbd")), "%s", line)
		require.Contains(t, string(line), "bytes:ff")
	}
	require.Equal(t, "\xff\x01", shared.Token, "the link's own command stays as it was")
}
