package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

func TestMerge_ExpandsPatternsExceptOut(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"1", "2", "all", "odd["} {
		require.NoError(t, os.Mkdir(at(name), 0o755))
	}
	for _, c := range []struct {
		args, want []string
		says       string
	}{
		{args: []string{at("*")}, want: []string{at("1"), at("2"), at("odd[")}},
		{args: []string{at("[1-9]"), at("all")}, want: []string{at("1"), at("2"), at("all")}},
		{args: []string{at("odd["), at("none")}, want: []string{at("odd["), at("none")}},
		{args: []string{at("a*")}, says: "matches no folder other than --out"},
		{args: []string{at("[1-")}, says: "syntax error in pattern"},
	} {
		got, err := slicesOf(c.args, at("all"))
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// sliced runs three scenarios in slices, and returns the folders.
func sliced(t *testing.T, p *program, count int) []string {
	t.Helper()
	var folders []string
	root := t.TempDir()
	for i := range count {
		dir := filepath.Join(root, strconv.Itoa(i+1))
		slice := strconv.Itoa(i+1) + "/" + strconv.Itoa(count)
		got := p.try("run", "late-release", "flushall", "hung-node", "--slice", slice, "--out", dir)
		require.NotEqual(t, exitUsage, got.code, got.err)
		folders = append(folders, dir)
	}
	return folders
}

// Slices give the results of one machine: results.json except for its times, and each history byte for byte. A killed
// slice is named, and can be run again alone.
func TestMerge_EqualsTheWholeRun(t *testing.T) {
	needs.Long(t, "it runs scenarios twice, whole and in slices")
	p := fake(expected)
	p.suite = suite.Run
	root := t.TempDir()
	short := filepath.Join(root, "short.yaml")
	require.NoError(t, os.WriteFile(short, []byte(shortContention), 0o644))
	run := func(dir string, more ...string) {
		t.Helper()
		got := p.try(append([]string{"run", short, "late-release", "flushall", "hung-node", "--trials", "3", "--seed", "7",
			"--parallel", "2", "--out", dir}, more...)...)
		require.Zero(t, got.code, got.err)
	}
	whole, merged := filepath.Join(root, "whole"), filepath.Join(root, "merged")
	run(whole)
	var folders []string
	for i := range 7 {
		dir := filepath.Join(root, "slices", strconv.Itoa(i+1))
		run(dir, "--slice", fmt.Sprintf("%d/7", i+1))
		folders = append(folders, dir)
	}
	const died = 2
	require.NoError(t, os.Remove(filepath.Join(folders[died], reports.ResultsFile)), "as one that was killed")
	got := p.try(append([]string{"merge", "--out", merged}, folders[:6]...)...)
	require.Equal(t, reports.ExitInconclusive, got.code, got.err)
	require.Contains(t, got.err, folders[died]+" has no results: its run was killed or is still running")
	require.Contains(t, strings.Join(strings.Fields(got.out), " "), "Of 7 slices, missing: 3 and 7: 5 of 18 trials were "+
		"not run.")

	run(folders[died], "--slice", "3/7")
	got = p.try(append([]string{"merge", "--out", merged}, folders...)...)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "3 hold, 3 violated as expected; 18 trials in ")
	require.Contains(t, got.out, "Written to "+merged+": results.json, junit.xml, summary.md, report.html")
	require.Equal(t, withoutTimes(t, whole), withoutTimes(t, merged))
}

// shortContention is a workload with another history for each seed.
const shortContention = `
name: short
title: Two clients want one key
source: a test
lesson: None.
delay: 0.002 ttl
workload: {clients: 2, keys: 1, for: 0.5 ttl, hold: 0.05 ttl, think: 0.05 ttl}
earned: {grants: 1, contended: 0, faults: 0}
expect: {mutual-exclusion: holds}
`

// withoutTimes returns a run's files without their times, by name.
func withoutTimes(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || slices.Contains([]string{reports.PageFile, reports.JUnitFile, reports.SummaryFile},
			entry.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		found[path[len(dir):]] = timesIn.ReplaceAllString(string(text), "$1")
		return err
	}))
	return found
}

// timesIn are the real times and durations in results.json.
var timesIn = regexp.MustCompile(`("elapsed": |"started": |trials? in )[^,\n]*`)

func TestMerge_Refused_WritesNothing(t *testing.T) {
	p := fake(expected)
	folders := sliced(t, p, 3)
	out := filepath.Join(t.TempDir(), "m")
	for says, args := range map[string][]string{
		"slice 1/3 is there more than once":      append(folders[:1:1], folders...),
		"no such file or directory":              {folders[0], folders[1], "none"},
		"whose results it would replace":         append([]string{"--out", folders[1]}, folders...),
		"needs the output folders of the slices": nil,
	} {
		got := p.try(append([]string{"merge", "--out", out}, args...)...)
		require.Equal(t, exitUsage, got.code)
		require.Contains(t, got.err, says)
		require.Empty(t, got.out)
		require.NoDirExists(t, out)
	}
	require.FileExists(t, filepath.Join(folders[1], reports.ResultsFile))
}

// The folder belongs to a live run, or is not Lockproof's: neither loses a file.
func TestForeignFolder_IsRefused(t *testing.T) {
	p := fake(expected)
	alive := filepath.Join(t.TempDir(), "alive")
	folder, err := reports.OpenFolder(alive)
	require.NoError(t, err)
	defer folder.Close()
	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, reports.ResultsFile), []byte("{}"), 0o644))
	parts := sliced(t, p, 2)
	for _, command := range [][]string{{"run", "flushall"}, append([]string{"merge"}, parts...),
		{"validate", "--set", "bind", "--crash", "kill", "--trials", "1"}} {
		for out, says := range map[string]string{
			alive:   "another run is writing to this folder: give this run another",
			foreign: "not a folder that Lockproof made",
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

// Machines that skip different rows divide the trials differently, and merge must see that.
func TestUseSlice_NamesTheRowsThatAreSkipped(t *testing.T) {
	chosen, err := scenarios.Select([]string{"flushall", "aof-always-rewrite"})
	require.NoError(t, err)
	o := suite.Options{Cluster: suite.Virtual}
	part, err := useSlice(&o, []suite.Job{{Scenario: chosen[0]}, {Scenario: chosen[1]}}, "1/1")
	require.NoError(t, err)
	require.Equal(t, []string{"aof-always-rewrite"}, part.Skipped)
}
