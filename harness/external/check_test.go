package external

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestCheck_ReportsEachFaultOnItsLine(t *testing.T) {
	for name, line := range map[string]string{
		"dies":          "wrong starts, and says what its lock is: worker c1 ",
		"answers twice": "ok    starts, and says what its lock is\nwrong acquire: a free key is granted: ",
		"does nothing":  "ok    starts, and says what its lock is\nwrong acquire: a free key is granted: ",
	} {
		var out bytes.Buffer
		require.ErrorIs(t, Check(context.Background(), []string{os.Args[0], "bad-worker", name}, &out), ErrWrong)
		require.Contains(t, out.String(), line)
	}
}

func TestCheck_SaysWhyAnOperationFailed(t *testing.T) {
	m := &testClient{}
	require.Empty(t, m.lastReason())
	for want, e := range map[string]history.Event{
		"": {Type: history.TypeOK},
		"; its reason is: AttributeError: no 'nope'": {Type: history.TypeFail, Reason: "other", Error: "AttributeError: no 'nope'"},
		"; its reason is: held":                      {Type: history.TypeFail, Reason: "held"},
		"; its reason is: none":                      {Type: history.TypeInfo},
	} {
		m.events = append(m.events, e)
		require.Equal(t, want, m.lastReason())
	}
}
