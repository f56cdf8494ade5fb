package main

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// endsVariable makes of this test binary a program under its overseer, which
// comes to the end that it names.
const endsVariable = "LOCKPROOF_TEST_END"

// ends are ways in which the program may end.
var ends = map[string]func(){
	"a verdict":     func() { os.Exit(ending(2)) },
	"all is well":   func() { os.Exit(ending(0)) },
	"an interrupt":  func() { os.Exit(ending(exitInterrupted)) },
	"panic":         func() { panic("boom") },
	"fatal error":   func() { new(sync.Mutex).Unlock() },
	"somebody's 0":  func() { os.Exit(0) },
	"somebody's 1":  func() { os.Exit(1) },
	"somebody's 2":  func() { os.Exit(2) },
	"somebody's 99": func() { os.Exit(99) },
}

func TestMain(m *testing.M) {
	if end := ends[os.Getenv(endsVariable)]; end != nil {
		if !isOverseen() {
			os.Exit(oversee(nil, os.Stderr))
		}
		end()
	}
	os.Exit(m.Run())
}

func TestOnlyADecisionIsAnExitCode(t *testing.T) {
	for end, want := range map[string]struct {
		code int
		says string
	}{
		"a verdict": {2, ""}, "all is well": {0, ""}, "an interrupt": {exitInterrupted, ""},
		"panic": {3, "panic: boom"}, "fatal error": {3, "fatal error: sync: unlock of unlocked mutex"},
		"somebody's 0": {3, "exit status 0"}, "somebody's 1": {3, "exit status 1"},
		"somebody's 2": {3, "exit status 2"}, "somebody's 99": {3, "exit status 99"},
	} {
		t.Run(end, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), endsVariable+"="+end)
			said, _ := cmd.CombinedOutput()
			require.Equal(t, want.code, cmd.ProcessState.ExitCode(), "%s", said)
			require.Contains(t, string(said), want.says)
			require.Equal(t, want.code == exitFailed,
				strings.Contains(string(said), "lockproof: the program ended unexpectedly ("))
		})
	}
}
