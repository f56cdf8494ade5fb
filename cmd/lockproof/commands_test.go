package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

func TestHelp_ListsEveryCommandWithAnExample(t *testing.T) {
	got := fake(expected).try("--help")
	require.Equal(t, 0, got.code)
	require.NotContains(t, got.out, "\n  worker ")
	requireWidth(t, got.out, 80)
	for _, name := range []string{"run", "explore", "merge", "compare", "list", "show", "check", "doctor", "clean",
		"worker-check", "validate", "serve", "test"} {
		require.Contains(t, got.out, "\n  "+name)
		help := fake(expected).try(name, "--help")
		require.Equal(t, 0, help.code)
		require.Contains(t, help.out, "Examples:\n  lockproof "+name)
		requireWidth(t, help.out, 80)
	}
	require.Contains(t, fake(expected).try().out, "Usage:", "with no command")
	require.Contains(t, fake(expected).try("--version").out, "lockproof version")
}

// requireWidth checks that a terminal breaks no line of a text.
func requireWidth(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width, "%q", line)
	}
}

func TestError_OnATerminal_WrapsBetweenWords(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine", nil, 0o644))
	p := fake(expected)
	whole := p.try("run", "flushall", "--out", ".").err
	p.errWidth = 60
	got := p.try("run", "flushall", "--out", ".").err
	require.Equal(t, strings.Fields(whole), strings.Fields(got))
	require.Greater(t, strings.Count(got, "\n"), strings.Count(whole, "\n"))
	require.Contains(t, got, "\nSee lockproof run --help.\n")
}

// The message of Ctrl-C appears above the display, which stays whole.
func TestNotify_LiveDisplay_PrintsAboveIt(t *testing.T) {
	var out, err strings.Builder
	p := fake(nil)
	p.rawOut, p.err, p.live = &out, &err, true
	d := p.display(func(int) []string { return []string{"the bar"} })
	p.notify("a message")
	d.finish()
	require.Contains(t, out.String(), "a message\nthe bar\n")
	require.Empty(t, err.String())
	p.notify("later")
	require.Equal(t, "later\n", err.String())
}

func TestList(t *testing.T) {
	got := fake(expected).try("list")
	require.Equal(t, 0, got.code)
	require.Contains(t, got.out, "client-pause")
	requireWidth(t, got.out, 80)
	requireWidth(t, fake(expected).try("list", "--locks").out, 80)
}

func TestShow_OutputLoadsAsScenario(t *testing.T) {
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	for _, s := range all {
		got := fake(expected).try("show", s.Name)
		require.Equal(t, 0, got.code)
		require.Contains(t, got.out, ", TTL "+reports.Duration(s.TTL), s.Name)
		again, err := scenarios.Parse(s.Name+".yaml", []byte(got.out))
		require.NoError(t, err)
		require.Equal(t, len(s.Variants), len(again.Variants), s.Name)
		for _, v := range s.Variants {
			require.Contains(t, strings.ReplaceAll(got.out, "\n# ", " "), v.Name, s.Name)
		}
	}
}

// The history is a violation in a variant whose header expects "holds".
const halves = "../../reports/testdata/half.jsonl"

func TestCheck_JudgesAHistory(t *testing.T) {
	got := fake(expected).try("check", halves)
	require.Equal(t, reports.ExitDiffers, got.code, got.err)
	for _, part := range []string{
		"half-is-not-majority (without Majority)", "✗ mutual-exclusion: violated, expected holds",
		"c1 A", "AAAA", "▲▲▲▲", "where c1 had none", "differs: mutual-exclusion: expected holds, got violated",
	} {
		require.Contains(t, got.out, part)
	}
}

func TestCheck_TruncatedHistory_IsJudged(t *testing.T) {
	data, err := os.ReadFile(halves)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(path, data[:len(data)-20], 0o644))
	got := fake(expected).try("check", path)
	require.Contains(t, got.err, path+": line 20 is cut short")
	require.Contains(t, []int{reports.ExitDiffers, reports.ExitInconclusive}, got.code)
	require.Contains(t, got.out, "mutual-exclusion")
}

func TestCheck_HistoryTooLongToDraw_DescribesViolation(t *testing.T) {
	needs.Long(t, "its history has hundreds of thousands of lines")
	short, err := os.ReadFile(halves)
	require.NoError(t, err)
	note, err := json.Marshal(history.Event{Time: int64(time.Hour), Process: "harness", Type: history.TypeNote,
		Text: strings.Repeat("x", 1<<19)})
	require.NoError(t, err)
	short = short[:bytes.LastIndex(short, []byte("{"))] // without the end
	path := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(path, append(short, bytes.Repeat(append(note, '\n'), 34)...), 0o600))
	got := fake(expected).try("check", path)
	require.Contains(t, got.out, "violation 1 of 1")
	require.Contains(t, got.out, "no drawing: too long to draw")
	_, text, found := strings.Cut(fake(expected).try("check", halves).out, "violation 1 of 1")
	require.True(t, found)
	what, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	require.Contains(t, what, "was granted")
	require.Contains(t, got.out, what)
}

func TestCheck_OtherFile_IsRefused(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "other": "{\"a\":1}\n", "binary": "\x00\x01\n",
		"array": "[]\n"} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		got := fake(expected).try("check", path)
		require.Equal(t, exitUsage, got.code, name)
		require.Contains(t, got.err, path+":1:", name)
		require.Empty(t, got.out)
	}
	run := t.TempDir()
	kept := filepath.Join(run, "trials", "flushall", "000", "history.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o755))
	for _, file := range []string{kept, filepath.Join(run, "results.json")} {
		require.NoError(t, os.WriteFile(file, []byte("{\n"), 0o644))
	}
	for _, other := range []string{run, filepath.Join(run, "results.json")} {
		require.Contains(t, fake(expected).try("check", other).err, "; a history of this run is "+kept)
	}
}

func TestClean(t *testing.T) {
	p := fake(expected)
	got := p.try("clean")
	require.Equal(t, ran{0, "nothing was left behind\n", ""}, got)
	p.clean = func(context.Context, io.Writer) error { return errors.New("process 7: operation not permitted") }
	got = p.try("clean")
	require.Equal(t, ran{exitFailed, "", "lockproof: process 7: operation not permitted\n"}, got)
}

func TestDoctor(t *testing.T) {
	got := fake(expected).try("doctor", "virtual")
	require.Equal(t, 0, got.code)
	require.Contains(t, got.out, "virtual: ready\n  Go: go1.")

	t.Setenv("PATH", t.TempDir())
	got = fake(expected).try("doctor", "local")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "local: not ready\n  redis-server: missing: ")
	require.Contains(t, got.out, "apt-get install redis-server")
	require.Contains(t, got.out, "C compiler, for clock and disk faults: missing: the preload shim needs a C compiler, "+
		"and none of cc, gcc, clang is in PATH")
}

func TestServe_NonLoopbackAddress_IsRefused(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "localhost:7420", "[::1]:80", "127.8.9.1:1"} {
		require.NoError(t, checkLoopback(addr), addr)
	}
	for _, addr := range []string{"", "7420", ":7420", "0.0.0.0:7420", "[::]:7420", "192.168.1.2:80", "example.org:80",
		"127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"} {
		require.Error(t, checkLoopback(addr), addr)
	}
	require.ErrorContains(t, checkLoopback("0.0.0.0:8000"), "127.0.0.1:8000, localhost:8000 or [::1]:8000 is right")
	require.ErrorContains(t, checkLoopback("127.0.0.1:70000"), "a port is a number from 0 to 65535")
	require.ErrorContains(t, checkLoopback("127.0.0.1:x"), "give an address and a port")
}

func TestVersion_NamesTheCommit(t *testing.T) {
	const revision = "286d527b04731b927f7bd7bd0c569024e466b147"
	for _, c := range []struct{ module, revision, modified, want string }{
		{"", "", "", "devel"},
		{"(devel)", revision, "false", "devel, commit 286d527b0473"},
		{"(devel)", revision, "true", "devel, commit 286d527b0473+dirty"},
		{"v1.2.0", revision, "false", "v1.2.0, commit 286d527b0473"},
		{"v1.2.0", "", "", "v1.2.0"},
		{"v0.0.0-20261122154349-286d527b0473+dirty", revision, "true", "v0.0.0-20261122154349-286d527b0473+dirty"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: c.revision}, {Key: "vcs.modified", Value: c.modified},
		}}
		require.Equal(t, c.want, versionOf(info))
	}
}

func TestCompare_ExitCode_IsThatOfTheComparison(t *testing.T) {
	root := t.TempDir()
	run := func(name, got string) string {
		dir := filepath.Join(root, name)
		require.NotEqual(t, exitUsage, fake(verdict(history.Holds, got)).try("run", "flushall", "--out", dir).code)
		return dir
	}
	held, again, broken := run("held", history.Holds), run("again", history.Holds), run("broken", history.Violated)
	got := fake(expected).try("compare", held, again)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, held, "with nothing else to tell them apart, by their folders")
	got = fake(expected).try("compare", held, again, broken)
	require.Equal(t, reports.ExitDiffers, got.code, got.err)
	require.Contains(t, got.out, "DISAGREE: flushall")
}
