package external

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
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
