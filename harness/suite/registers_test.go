package suite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A write whose reply is lost overwrites another's, and no client reads after it, or
// one writes over it that does not know of it: then the order of the commands at the
// store tells.
func TestAWriteThatNobodyReadsIsJudged(t *testing.T) {
	script := `name: unread
title: a stale write of unknown fate
source: a test
lesson: None.
clients: [c1, c2]
script:
  - acquire: c1
    must: ok
  - read: c1
  - wait: 1.1 ttl
  - acquire: c2
    must: ok
  - read: c2
  - write: c2
    must: ok
  - drop: c1-store
    of: SET
    part: reply
  - write: c1
`
	for name, rest := range map[string]string{
		"as the last":     "expect: {protected-data: violated}\n",
		"and overwritten": "  - write: c2\n    must: ok\nexpect: {protected-data: violated}\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "unread.yaml")
			require.NoError(t, os.WriteFile(file, []byte(script+rest), 0o600))
			o := Options{Cluster: Virtual, Trials: 1, Seed: 1}
			trials, err := Run(context.Background(), jobsOf(t, o, file), o, func(Result) {})
			require.NoError(t, err)
			standing, why := trials[0].Outcome()
			require.Equal(t, AsExpected, standing, why)
		})
	}
}

// At the end the harness reads each register that somebody wrote to, also if no write of it was acknowledged.
func TestEachRegisterIsReadAtTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`name: two-registers
title: one is written to, and of the other nobody knows
source: a test
lesson: None.
clients: [c1]
script:
  - acquire: c1
    must: ok
  - write: c1
    must: ok
  - acquire: c1
    key: k2
    must: ok
  - drop: c1-store
    of: SET
    part: reply
  - write: c1
    key: k2
expect: {protected-data: holds}
`), 0o600))
	o := Options{Cluster: Virtual, Trials: 1, Seed: 1, Events: true}
	trials, err := Run(context.Background(), jobsOf(t, o, file), o, func(Result) {})
	require.NoError(t, err)
	read := map[string]string{}
	for _, e := range trials[0].Events {
		if e.Process == "harness" && e.Op == history.OpRead && e.Type == history.TypeOK {
			read[e.Key] = e.Value
		}
	}
	require.Equal(t, map[string]string{"k1": "c1.1", "k2": "c1.2"}, read)
}
