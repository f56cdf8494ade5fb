package filelock

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holder is the environment variable that turns a child of the tests into a lock holder: it names the file.
const holder = "LOCKPROOF_TEST_HOLDS"

func TestMain(m *testing.M) {
	if name := os.Getenv(holder); name != "" {
		hold(name)
		return
	}
	os.Exit(m.Run())
}

// hold locks a file, reports it, and waits for a kill.
func hold(name string) {
	file, err := os.Open(name)
	if err != nil {
		panic(err)
	}
	if got, err := Exclusive(file); !got || err != nil {
		panic(err)
	}
	os.Stdout.WriteString("locked\n")
	time.Sleep(time.Hour) // select {} would be a deadlock, which ends a Go program without cgo
}

func open(t *testing.T, name string) *os.File {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	return file
}

func tryLock(t *testing.T, how func(*os.File) (bool, error), file *os.File) bool {
	got, err := how(file)
	require.NoError(t, err)
	return got
}

func TestLocks_ExclusiveAndShared_Conflict(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	a, b := open(t, name), open(t, name)
	require.True(t, tryLock(t, Exclusive, a))
	require.False(t, tryLock(t, Exclusive, b))
	require.False(t, tryLock(t, Shared, b))
	require.NoError(t, a.Close())
	require.True(t, tryLock(t, Shared, b))
	a = open(t, name)
	require.True(t, tryLock(t, Shared, a))
	require.False(t, tryLock(t, Exclusive, a))
	require.NoError(t, b.Close())
	require.True(t, tryLock(t, Exclusive, a))
}

func TestProcessKilled_ItsLockIsReleased(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	file := open(t, name)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), holder+"="+name)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)
	require.False(t, tryLock(t, Exclusive, file))
	_, err = file.WriteString("a lock does not protect the file itself")
	require.NoError(t, err)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.True(t, tryLock(t, Exclusive, file))
}
