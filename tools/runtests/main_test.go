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

// machine is one to run tests on: a folder that is all of its PATH, and has Go.
type machine struct {
	t             *testing.T
	runner, place string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	needs.Long(t, "it builds the runner, and runs go test in it")
	m := machine{t: t, runner: filepath.Join(t.TempDir(), "runtests"), place: t.TempDir()}
	out, err := exec.Command("go", "build", "-o", m.runner, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	program, err := exec.LookPath("go")
	require.NoError(t, err)
	m.install("go", "#!/bin/sh\nexec "+program+` "$@"`+"\n")
	return m
}

func (m machine) install(name, script string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(filepath.Join(m.place, name), []byte(script), 0o755))
}

// small is the package that most of the tests run.
var small = []string{"./testdata/small"}

// run runs the runner and gives what is said and the status.
func (m machine) run(args []string, environment ...string) (said string, status int) {
	m.t.Helper()
	cmd := exec.Command(m.runner, args...)
	cmd.Env = append(os.Environ(), append([]string{
		"PATH=" + m.place, "DOCKER_HOST=unix:///nowhere", needs.RequireVariable + "=",
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

func TestSkipsAreToldOnceForEachReason(t *testing.T) {
	m := newMachine(t)
	said, status := m.run([]string{"-flags", "-short", "-cost", small[0]})
	require.Zero(t, status, said)
	require.Contains(t, said, "\n4 passed, 0 failed, 4 skipped in ")
	require.True(t, strings.HasSuffix(said, "\n"+
		"skipped: 3 for want of time (-short was given): run `make test-all`\n"+always), said)
	require.Regexp(t, `(?m)^ +(\d+\.\ds|cached)  example.org/lockproof/tools/runtests/testdata/small$`, said)
}

// Go's cache of results must not hide that a program has been installed.
func TestWhatIsInstalledBetweenTwoRunsIsSeen(t *testing.T) {
	m := newMachine(t)
	for range 2 {
		said, _ := m.run(small)
		require.Contains(t, said, withoutRedis)
	}
	m.install("redis-server", "#!/bin/sh\n")
	said, status := m.run(small)
	require.Zero(t, status, said)
	require.NotContains(t, said, "Redis")
	require.Contains(t, said, "\n7 passed, 0 failed, 1 skipped in ")
}

func TestWhatMustBeThereFailsItsTests(t *testing.T) {
	m := newMachine(t)
	said, status := m.run(small, needs.RequireVariable+"=compiler redis-server")
	require.Equal(t, 1, status, said)
	require.Contains(t, said, "LOCKPROOF_TESTS_REQUIRE says that there must be redis-server: ")
	require.Contains(t, said, "\n4 passed, 3 failed, 1 skipped in ")
}

func TestAFailureIsShownAndIsTheStatus(t *testing.T) {
	m := newMachine(t)
	said, status := m.run(small, "SMALL_FAILS=1")
	require.Equal(t, 1, status)
	require.Contains(t, said, "as it was told")
	require.Contains(t, said, "\nfailed: example.org/lockproof/tools/runtests/testdata/small\n")
	require.Contains(t, said, " 1 failed, ")
	said, status = m.run(small, "SMALL_DIES=1")
	require.Equal(t, 1, status)
	require.Contains(t, said, "TestDiesIfTold did not end")
	require.Contains(t, said, "some last words")
	require.Contains(t, said, " 1 failed, ")
}

// A machine that has nothing but Go, an engine that never answers, and blanks in
// the path of its temporary files: tests are skipped, and none fails. Where they
// must not be skipped, they fail.
func TestAMachineThatLacksEverything(t *testing.T) {
	m := newMachine(t)
	temp := filepath.Join(t.TempDir(), "a folder")
	require.NoError(t, os.Mkdir(temp, 0o755))
	environment := []string{"HOME=", "TMPDIR=" + temp, "CGO_ENABLED=0", "DOCKER_HOST=" + silent(t)}
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE"} { // which Go looks for at home
		out, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		environment = append(environment, name+"="+strings.TrimSpace(string(out)))
	}
	packages := []string{
		"example.org/lockproof/harness/cluster/local", "example.org/lockproof/harness/cluster/shim",
		"example.org/lockproof/harness/cluster/docker",
		"example.org/lockproof/harness/cluster/process", "example.org/lockproof/internal/browser",
	}
	said, status := m.run(append([]string{"-modules", "../.."}, packages...), environment...)
	require.Zero(t, status, said)
	require.Contains(t, said, " 0 failed, ")
	for _, n := range []needs.Need{needs.Redis, needs.Compiler, needs.Engine, needs.Shell} {
		require.Contains(t, said, " for want of "+n.What+": run `make setup`\n")
	}
	environment = append(environment, needs.RequireVariable+"=compiler")
	said, status = m.run([]string{"-modules", "../..", packages[1]}, environment...)
	require.Equal(t, 1, status, said)
	require.Contains(t, said, "LOCKPROOF_TESTS_REQUIRE says that there must be compiler: ")
}

// silent is an engine that takes every connection and never says a word.
func silent(t *testing.T) (host string) {
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

func TestSelectPart_PartsMakeTheWhole(t *testing.T) {
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

// What keeps processors busy in a package that waits is a call of its own, and each
// test is in one of the two; not where the caller chooses the tests. Each module has its calls.
func TestBusyTestsOfPackagesThatWait(t *testing.T) {
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
	engine, others, beside := shareOut(packages, []string{"-short"})
	require.Equal(t, []call{whole(docker)}, engine)
	require.Equal(t, []call{waiting, whole(bench), whole(nemesis)}, others)
	require.Equal(t, []call{whole(checker, reports), running}, beside)
	for _, flag := range []string{"-run=X", "--run", "-skip"} {
		engine, others, beside = shareOut(packages, []string{flag})
		require.Equal(t, []call{whole(docker)}, engine)
		require.Equal(t, []call{whole(bench), whole(suite), whole(nemesis)}, others)
		require.Equal(t, []call{whole(checker, reports)}, beside)
	}
}

// Packages of both kinds and of two modules are in one report, and the failure of either is told.
func TestBothKindsOfPackagesRun(t *testing.T) {
	m := newMachine(t)
	said, status := m.run([]string{"-modules", "testdata/small ../../harness/cluster/realcluster", "."}, "SMALL_FAILS=1")
	require.Equal(t, 1, status, said)
	require.Contains(t, said, "\nfailed: example.org/lockproof/tools/runtests/testdata/small\n")
	require.Contains(t, said, "ok   example.org/lockproof/harness/cluster/realcluster ")
}
