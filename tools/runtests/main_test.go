package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// machine simulates a machine for tests: its PATH is one folder that has Go.
type machine struct {
	t            *testing.T
	runner, path string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	needs.Long(t, "it builds the runner and runs go test")
	m := machine{t: t, runner: filepath.Join(t.TempDir(), "runtests"), path: t.TempDir()}
	out, err := exec.Command("go", "build", "-o", m.runner, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	program, err := exec.LookPath("go")
	require.NoError(t, err)
	m.install("go", "#!/bin/sh\nexec "+program+` "$@"`+"\n")
	return m
}

func (m machine) install(name, script string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(filepath.Join(m.path, name), []byte(script), 0o755))
}

var smallPackage = []string{"./testdata/small"}

func (m machine) run(args []string, environment ...string) (output string, status int) {
	m.t.Helper()
	cmd := exec.Command(m.runner, args...)
	cmd.Env = append(os.Environ(), append([]string{
		"PATH=" + m.path, "DOCKER_HOST=unix:///nowhere", needs.RequireVariable + "=",
	}, environment...)...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		require.NoError(m.t, err, "%s", out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

const (
	withoutRedis = "skipped: 2 for want of Redis 7.0 or later: run `make setup`\n"
	always       = "skipped: 1 for want of what this system's kernel or file system does not do\n"
)

func TestSummary_CountsSkipsByReason(t *testing.T) {
	m := newMachine(t)
	output, status := m.run([]string{"-flags", "-short", "-cost", smallPackage[0]})
	require.Zero(t, status, output)
	require.Contains(t, output, "\n4 passed, 0 failed, 4 skipped in ")
	require.True(t, strings.HasSuffix(output, "\n"+
		"skipped: 3 for want of time (-short was given): run `make test-all`\n"+always), output)
	require.Regexp(t, `(?m)^ +(\d+\.\ds|cached)  example.org/lockproof/tools/runtests/testdata/small$`, output)
}

// Go's cache of results must not hide that a program has been installed.
func TestRun_ProgramInstalled_TestsRunAgain(t *testing.T) {
	m := newMachine(t)
	for range 2 {
		output, _ := m.run(smallPackage)
		require.Contains(t, output, withoutRedis)
	}
	m.install("redis-server", "#!/bin/sh\n")
	output, status := m.run(smallPackage)
	require.Zero(t, status, output)
	require.NotContains(t, output, "Redis")
	require.Contains(t, output, "\n7 passed, 0 failed, 1 skipped in ")
}

func TestRun_RequiredProgramMissing_TestsFail(t *testing.T) {
	m := newMachine(t)
	output, status := m.run(smallPackage, needs.RequireVariable+"=compiler redis-server")
	require.Equal(t, 1, status, output)
	require.Contains(t, output, "LOCKPROOF_TESTS_REQUIRE says that there must be redis-server: ")
	require.Contains(t, output, "\n4 passed, 3 failed, 1 skipped in ")
}

func TestRun_TestFails_StatusAndReport(t *testing.T) {
	m := newMachine(t)
	output, status := m.run(smallPackage, "SMALL_FAILS=1")
	require.Equal(t, 1, status)
	require.Contains(t, output, "as requested")
	require.Contains(t, output, "\nfailed: example.org/lockproof/tools/runtests/testdata/small\n")
	require.Contains(t, output, " 1 failed, ")
	output, status = m.run(smallPackage, "SMALL_DIES=1")
	require.Equal(t, 1, status)
	require.Contains(t, output, "TestDiesOnRequest did not end")
	require.Contains(t, output, "an output before the exit")
	require.Contains(t, output, " 1 failed, ")
}

// The machine has only Go, an engine that does not answer, and blanks in the path of its temporary files: tests skip
// and none fails. Required tests fail.
func TestRun_MachineWithOnlyGo_TestsSkip(t *testing.T) {
	m := newMachine(t)
	temp := filepath.Join(t.TempDir(), "a folder")
	require.NoError(t, os.Mkdir(temp, 0o755))
	environment := []string{"HOME=", "TMPDIR=" + temp, "CGO_ENABLED=0", "DOCKER_HOST=" + hangingEngine(t)}
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE"} { // Go's defaults are in HOME
		out, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		environment = append(environment, name+"="+strings.TrimSpace(string(out)))
	}
	packages := []string{
		"example.org/lockproof/harness/cluster/local", "example.org/lockproof/harness/cluster/shim",
		"example.org/lockproof/harness/cluster/docker",
		"example.org/lockproof/harness/cluster/process", "example.org/lockproof/internal/browser",
	}
	output, status := m.run(append([]string{"-modules", "../.."}, packages...), environment...)
	require.Zero(t, status, output)
	require.Contains(t, output, " 0 failed, ")
	for _, n := range []needs.Need{needs.Redis, needs.Compiler, needs.Engine, needs.Shell} {
		require.Contains(t, output, " for want of "+n.What+": run `make setup`\n")
	}
	environment = append(environment, needs.RequireVariable+"=compiler")
	output, status = m.run([]string{"-modules", "../..", packages[1]}, environment...)
	require.Equal(t, 1, status, output)
	require.Contains(t, output, "LOCKPROOF_TESTS_REQUIRE says that there must be compiler: ")
}

// hangingEngine accepts every connection and never answers.
func hangingEngine(t *testing.T) (host string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		var held []net.Conn
		for {
			conn, err := ln.Accept()
			if err != nil {
				for _, c := range held {
					c.Close()
				}
				return
			}
			held = append(held, conn)
		}
	}()
	return "tcp://" + ln.Addr().String()
}

func TestSelectPart_CoversEachPackageOnce(t *testing.T) {
	a, b, c := listed{".", "a"}, listed{".", "b"}, listed{"tools", "c"}
	packages := []listed{a, b, c}
	for part, want := range map[string][]listed{"1/1": packages, "1/2": {a, c}, "2/2": {b}, "6/6": nil} {
		selected, err := selectPart(packages, part)
		require.NoError(t, err, part)
		require.Equal(t, want, selected, part)
	}
	for _, part := range []string{"", "1", "0/2", "3/2", "a/b"} {
		_, err := selectPart(packages, part)
		require.ErrorContains(t, err, "want INDEX/COUNT", part)
	}
}

// The busy tests of a waiting package get a call of their own, unless the caller selects tests. Each module has its own
// calls.
func TestGroupCalls_SplitsBusyTests(t *testing.T) {
	in := func(name string) listed { return listed{".", root + name} }
	docker, suite, nemesis := in("harness/cluster/docker"), in("harness/suite"), in("nemesis")
	checker, reports, bench := in("checker"), in("reports"), listed{"bench", root + "bench"}
	whole := func(packages ...listed) call {
		c := call{module: packages[0].module}
		for _, p := range packages {
			c.packages = append(c.packages, p.name)
		}
		return c
	}
	packages := []listed{bench, checker, docker, suite, nemesis, reports}
	busy := busyTests[suite.name]
	waiting := call{".", []string{"-skip", busy}, []string{suite.name}, ""}
	running := call{".", []string{"-run", busy}, []string{suite.name}, ", the busy ones"}
	engine, serial, parallel, others := groupCalls(packages, []string{"-short"})
	require.Equal(t, []call{whole(docker)}, engine)
	require.Equal(t, []call{waiting, whole(bench), whole(nemesis)}, serial)
	require.Equal(t, []call{whole(checker, reports)}, parallel)
	require.Equal(t, []call{running}, others)
	for _, flag := range []string{"-run=X", "--run", "-skip"} {
		engine, serial, parallel, others = groupCalls(packages, []string{flag})
		require.Equal(t, []call{whole(docker)}, engine)
		require.Equal(t, []call{whole(bench), whole(suite), whole(nemesis)}, serial)
		require.Equal(t, []call{whole(checker, reports)}, parallel)
		require.Empty(t, others)
	}
}

// One report has waiting and busy packages of two modules, and the failure of either.
func TestRun_SeveralModules_OneReport(t *testing.T) {
	m := newMachine(t)
	output, status := m.run([]string{"-modules", "testdata/small ../../harness/cluster/realcluster", "."}, "SMALL_FAILS=1")
	require.Equal(t, 1, status, output)
	require.Contains(t, output, "\nfailed: example.org/lockproof/tools/runtests/testdata/small\n")
	require.Contains(t, output, "ok   example.org/lockproof/harness/cluster/realcluster ")
}
