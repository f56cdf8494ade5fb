package validate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/validate/settings"
)

// reading asks about a redis.conf, lines that outrank it, and a unit's text, "" for none,
// which are read again with each change.
func reading(t *testing.T, conf, unit string, lines ...string) *Asker {
	t.Helper()
	folder := t.TempDir()
	config, policy := filepath.Join(folder, "redis.conf"), filepath.Join(folder, "redis.service")
	require.NoError(t, os.WriteFile(config, []byte(conf), 0o600))
	require.NoError(t, os.WriteFile(policy, []byte(unit), 0o600))
	a := asker(t, "", atOnce())
	again := func(disk settings.Files) (q Question, err error) {
		q = a.Question
		if unit != "" {
			if q.Policy, err = disk.ReadPolicy(policy, ""); err != nil {
				return q, err
			}
		}
		q.Redis, err = disk.ReadSettings(config, lines, q.Policy)
		return q, err
	}
	q, err := again(settings.Disk)
	require.NoError(t, err)
	a.Question = q
	a.Again = again
	return a
}

// advised is the advice for an asker's question.
func advised(t *testing.T, a *Asker) []Advice {
	t.Helper()
	answer := judged(t, a)
	require.NoError(t, a.Advise(t.Context(), answer))
	return answer.Advice
}

const plainUnit = "[Service]\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf\nRestart=always\n"

// What is tried is what is read from the changed files: where the change is not in them, or
// something outranks it there, it is no advice.
func TestAdviceIsReadFromTheChangedFiles(t *testing.T) {
	a := reading(t, "appendonly no\n", plainUnit)
	list := advised(t, a)
	require.Len(t, list, 3)
	require.Contains(t, list[0].Diff.Text, "+ExecStartPre=/bin/sleep 2\n")
	require.Nil(t, list[1].Diff, "a restart guard is in no file")
	require.Contains(t, list[2].Diff.Text, "-appendonly no\n+appendonly yes\n+appendfsync always\n")
	for _, l := range list {
		require.Equal(t, Safe, l.Verdict)
		require.Equal(t, 3*adviceTrials, l.Tally.Held)
		require.Empty(t, l.ByHand)
	}

	again := a.Again
	a.Again = func(settings.Files) (Question, error) { return again(settings.Disk) }
	list = advised(t, a)
	require.Len(t, list, 1, "the files say what they said")
	require.Equal(t, GuardedClients, list[0].File)
}

// Of a line that was given, and of a delay, there is no file to change.
func TestAdviceInWords(t *testing.T) {
	a := reading(t, "port 1\n", plainUnit, "appendonly no")
	list := advised(t, a)
	require.Len(t, list, 3)
	require.Equal(t, []string{"appendonly yes", "appendfsync always"}, list[2].Lines)
	require.Contains(t, list[2].ByHand, `appendonly is given with --set "appendonly no"`)
	require.Nil(t, list[2].Diff)

	a = reading(t, "appendonly no\n", plainUnit)
	a.Policy.Given = true
	list = advised(t, a)
	require.Equal(t, []string{"sleep 2 before redis-server, at every start"}, list[0].Lines)
	require.Contains(t, list[0].ByHand, "--restart-delay")
}

// A sleep that a unit's timeout would end comes with more time, and one that is there already
// is not slept twice.
func TestTheStartHasTimeForTheSleep(t *testing.T) {
	for more, want := range map[string]string{
		"":                            "+ExecStartPre=/bin/sleep 2\n",
		"TimeoutSec=1\n":              "+ExecStartPre=/bin/sleep 2\n+TimeoutStartSec=92\n",
		"ExecStartPre=/bin/sleep 1\n": "+ExecStartPre=/bin/sleep 1\n",
		"ExecStartPre=/bin/sleep 5\nTimeoutStartSec=3\n":                 "+TimeoutStartSec=95\n",
		"NoExecPaths=/\nExecPaths=/usr/bin /usr/lib /lib\n":              "+ExecStartPre=/bin/sleep 2\n",
		"NoExecPaths=/\nExecPaths=/usr/bin/redis-server /usr/lib /lib\n": "+ExecStartPre=/bin/sleep 2\n+ExecPaths=/bin/sleep\n",
	} {
		list := advised(t, reading(t, "appendonly no\n", plainUnit+more))
		require.NotEmpty(t, list, more)
		require.Contains(t, list[0].Diff.Text, "+[Service]\n"+want, more)
	}
}

// What takes a hazard away is advised where nothing else is wrong.
func TestAdviceAgainstEviction(t *testing.T) {
	conf := "appendonly yes\nappendfsync always\nmaxmemory 1gb\nmaxmemory-policy allkeys-lru\n"
	list := advised(t, reading(t, conf, plainUnit))
	require.Len(t, list, 1)
	require.Contains(t, list[0].Diff.Text, "-maxmemory-policy allkeys-lru\n+maxmemory-policy noeviction\n")
}

// Where something keeps the settings from being judged, no change of them is called safe.
func TestAdviceKeepsDoubts(t *testing.T) {
	list := advised(t, reading(t, "appendonly no\nquantum-sync yes\n", plainUnit))
	require.Len(t, list, 3)
	for _, l := range list {
		require.Equal(t, Inconclusive, l.Verdict)
	}
	require.Empty(t, advised(t, reading(t, "appendonly yes\nappendfsync always\nquantum-sync yes\n", plainUnit)))
}
