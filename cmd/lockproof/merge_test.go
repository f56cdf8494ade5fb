package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/reports"
)

// sharded runs three scenarios in shards, and gives the folders.
func sharded(t *testing.T, p *program, count int) []string {
	t.Helper()
	var folders []string
	root := t.TempDir()
	for i := range count {
		dir := filepath.Join(root, strconv.Itoa(i+1))
		shard := strconv.Itoa(i+1) + "/" + strconv.Itoa(count)
		got := p.try("run", "late-release", "flushall", "hung-node", "--shard", shard, "--out", dir)
		require.NotEqual(t, exitUsage, got.code, got.err)
		folders = append(folders, dir)
	}
	return folders
}

func TestMergeIsTheRunOfTheWhole(t *testing.T) {
	p := fake(expected)
	p.suite = suite.Run
	whole := filepath.Join(t.TempDir(), "whole")
	p.try("run", "late-release", "flushall", "hung-node", "--out", whole)
	merged := filepath.Join(t.TempDir(), "merged")
	got := p.try(append([]string{"merge", "--out", merged}, sharded(t, p, 3)...)...)
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.out, "5 as expected; 5 trials in ")
	require.Contains(t, got.out, "Written to "+merged+": results.json, junit.xml, summary.md, report.html")
	require.Equal(t, rowsOf(t, whole), rowsOf(t, merged))

	kept, err := filepath.Glob(filepath.Join(merged, "trials", "*", "*", "history.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, kept)
	for _, path := range kept {
		name, err := filepath.Rel(merged, path)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(whole, name))
		require.NoError(t, err)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}

// rowsOf are a run's rows without what they took.
func rowsOf(t *testing.T, dir string) []reports.ResultsRow {
	t.Helper()
	run, err := reports.Read(dir)
	require.NoError(t, err)
	rows := run.Results().Scenarios
	for i := range rows {
		rows[i].Elapsed = 0
		for k := range rows[i].Trials {
			rows[i].Trials[k].Elapsed = 0
		}
	}
	return rows
}

func TestMergeExitsAsTheWholeWould(t *testing.T) {
	p := fake(verdict(history.Holds, history.Violated))
	got := p.try(append([]string{"merge", "--out", filepath.Join(t.TempDir(), "m")}, sharded(t, p, 2)...)...)
	require.Equal(t, reports.ExitDiffers, got.code)
	require.Contains(t, got.out, "DIFFERS: ")
}

func TestMergeThatIsRefusedWritesNothing(t *testing.T) {
	p := fake(expected)
	folders := sharded(t, p, 3)
	out := filepath.Join(t.TempDir(), "m")
	for says, args := range map[string][]string{
		"shard 3/3 is missing":                   folders[:2],
		"no such file or directory":              {folders[0], folders[1], "none"},
		"whose results it would replace":         append([]string{"--out", folders[1]}, folders...),
		"needs the output folders of all shards": nil,
	} {
		got := p.try(append([]string{"merge", "--out", out}, args...)...)
		require.Equal(t, exitUsage, got.code)
		require.Contains(t, got.err, says)
		require.Empty(t, got.out)
		require.NoDirExists(t, out)
	}
	require.FileExists(t, filepath.Join(folders[1], reports.ResultsFile))
}

// A folder in which a run is alive is that run's, and one that is not ours is
// its owner's: neither loses a file.
func TestAFolderOfOthersIsRefused(t *testing.T) {
	p := fake(expected)
	alive := filepath.Join(t.TempDir(), "alive")
	folder, err := reports.OpenFolder(alive)
	require.NoError(t, err)
	defer folder.Close()
	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, reports.ResultsFile), []byte("{}"), 0o644))
	shards := sharded(t, p, 2)
	for _, command := range [][]string{{"run", "flushall"}, append([]string{"merge"}, shards...),
		{"validate", "--crash", "kill", "--trials", "1"}} {
		for out, says := range map[string]string{
			alive:   "another run is writing to this folder: give this run another",
			foreign: "this is not an output folder of Lockproof's, whose files it may replace",
		} {
			got := p.try(append(command, "--out", out)...)
			require.Equal(t, exitUsage, got.code, got.err)
			require.Contains(t, got.err, "--out "+out+": "+says)
			require.Empty(t, got.out)
			left, err := os.ReadDir(out)
			require.NoError(t, err)
			require.Len(t, left, 1)
		}
	}
}
