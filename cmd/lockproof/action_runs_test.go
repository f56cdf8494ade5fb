package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// runner runs an action's shell steps as GitHub's does, and skips the actions
// that it uses.
type runner struct {
	action
	root, temp, work string
	bin              string // folder of the built program, or ""
	given            map[string]string
	outputs          map[string]string // "steps.ID.outputs.NAME", and other names in expressions
	summary, log     string
}

const buildStep = "Build Lockproof"

func newRunner(t *testing.T, given map[string]string) *runner {
	t.Helper()
	a, _ := readAction(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	inputs := map[string]string{}
	for name, input := range a.Inputs {
		inputs[name] = *input.Default
	}
	maps.Copy(inputs, given)
	return &runner{action: a, root: root, temp: t.TempDir(), work: t.TempDir(), given: inputs,
		outputs: map[string]string{}}
}

// run runs all steps, and returns the exit code of the first that fails.
func (r *runner) run(t *testing.T) (code int) {
	t.Helper()
	needs.Commands(t, "bash", "cat", "head", "sed")
	path := r.bin + ":" + os.Getenv("PATH")
	for i, step := range r.Runs.Steps {
		if step.Run == "" || step.Name == buildStep && r.bin != "" || !r.due(t, step.If, code) {
			continue
		}
		file := func(name string) string { return filepath.Join(r.temp, fmt.Sprintf("%s-%d", name, i)) }
		script := file("script")
		require.NoError(t, os.WriteFile(script, []byte(step.Run), 0o644))
		cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
		cmd.Dir = r.work
		cmd.Env = append(os.Environ(), "PATH="+path, "GITHUB_ACTION_PATH="+r.root, "RUNNER_TEMP="+r.temp,
			"GITHUB_OUTPUT="+file("output"), "GITHUB_PATH="+file("path"), "GITHUB_STEP_SUMMARY="+file("summary"))
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+r.expand(t, fmt.Sprint(value)))
		}
		said, err := cmd.CombinedOutput()
		r.log += string(said)
		if err != nil && code == 0 {
			code = cmd.ProcessState.ExitCode()
		}
		for _, line := range linesOf(file("path")) {
			path = line + ":" + path
		}
		for _, line := range linesOf(file("output")) {
			name, value, _ := strings.Cut(line, "=")
			r.outputs["steps."+step.ID+".outputs."+name] = value
		}
		r.summary += strings.Join(linesOf(file("summary")), "\n")
	}
	return code
}

// due reports whether a step runs: after a failure only always() steps do. The one
// step with another condition is not for the virtual cluster.
func (r *runner) due(t *testing.T, condition string, code int) bool {
	switch {
	case condition == "":
		return code == 0
	case strings.HasPrefix(condition, "always()"):
		return true
	case strings.HasPrefix(condition, "steps.prepare.outputs.mode"):
		mode, more, both := strings.Cut(strings.TrimPrefix(condition, "steps.prepare.outputs.mode == "), " && ")
		switch {
		case mode != "'"+r.outputs["steps.prepare.outputs.mode"]+"'":
			return false
		case !both:
			return code == 0
		}
		condition = more
	}
	require.Contains(t, condition, "inputs.on == 'local'")
	return r.given["on"] == "local"
}

func (r *runner) expand(t *testing.T, text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		name := expression.FindStringSubmatch(e)[1]
		if input, found := strings.CutPrefix(name, "inputs."); found {
			return r.given[input]
		}
		require.Contains(t, r.outputs, name)
		return r.outputs[name]
	})
}

func linesOf(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// The first run builds the program for all.
func TestAction_Runs(t *testing.T) {
	needs.Long(t, "it runs the action, with whole catalogues")
	first := newRunner(t, map[string]string{"names": "flushall"})
	require.Zero(t, first.run(t), first.log)
	require.Contains(t, first.summary, "## Lockproof: as expected")
	bin := filepath.Join(first.temp, "lockproof")
	t.Run("inputs", func(t *testing.T) { testInputs(t, bin) })
	t.Run("files of the repository", func(t *testing.T) { testFiles(t, bin) })
	t.Run("slices", func(t *testing.T) { testSlices(t, bin) })
}

// Exit code 2 is a crash of Go, even with results.
func TestAction_ProgramCrashes_ExitCodeIsNoVerdict(t *testing.T) {
	r := newRunner(t, map[string]string{"names": "*", "inconclusive": "pass"})
	r.bin = t.TempDir()
	script := "#!/bin/sh\nmkdir -p lockproof-out\necho '{\"exit_code\": 4}' > lockproof-out/results.json\nexit 2\n"
	require.NoError(t, os.WriteFile(filepath.Join(r.bin, "lockproof"), []byte(script), 0o755))
	require.Equal(t, 2, r.run(t), r.log)
	require.Contains(t, r.log, "::error title=Lockproof::The harness itself failed")
}

// Without inputs, go test tests the repository's own locks, and the job shows their summaries.
func TestAction_TestsTheLocksOfTheRepository(t *testing.T) {
	for packages, want := range map[string]string{"": "test ./...", "./a  ./b": "test ./a ./b"} {
		given := map[string]string{"test": packages}
		if packages == "" {
			given = nil
		}
		r := newRunner(t, given)
		r.bin = t.TempDir()
		script := "#!/bin/sh\necho \"go $@\"\nmkdir -p a/lockproof/TestLock\n" +
			"echo 'TestLock, one server' > a/lockproof/TestLock/summary.txt\nexit 1\n"
		require.NoError(t, os.WriteFile(filepath.Join(r.bin, "go"), []byte(script), 0o755))
		require.Equal(t, 1, r.run(t), r.log)
		require.Equal(t, "go "+want+"\n", r.log)
		require.Equal(t, "```text\nTestLock, one server\n```\n", r.summary)
		require.FileExists(t, filepath.Join(r.work, r.given["out"], "a/lockproof/TestLock/summary.txt"))
	}
}

func testInputs(t *testing.T, bin string) {
	for _, c := range []struct {
		name     string
		inputs   map[string]string
		code     int
		artifact string
		summary  string
		log      string
	}{
		{"as expected", map[string]string{"names": "late-release\n  flush*", "trials": "2"}, 0, "lockproof-virtual",
			"## Lockproof: as expected", "6 trials in "},
		{"a lock that differs", map[string]string{"names": "late-release", "lock": "redsync"}, 1, "lockproof-virtual-redsync",
			"## Lockproof: not as expected", "::error title=Lockproof::A property differs"},
		{"inconclusive", map[string]string{"names": "slow-acquire", "lock": "redsync"}, 4, "lockproof-virtual-redsync",
			"## Lockproof: inconclusive", "::error title=Lockproof::Nothing differs"},
		{"inconclusive, which may pass",
			map[string]string{"names": "slow-acquire", "lock": "redsync", "inconclusive": "pass", "artifact": "mine"}, 0,
			"mine", "## Lockproof: inconclusive", "::warning title=Lockproof::Nothing differs"},
		{"a name that does not exist", map[string]string{"names": "late-relaese"}, 64, "lockproof-virtual", "",
			`did you mean "late-release"?`},
		{"an input that tries to be a command", map[string]string{"names": "flushall $(touch pwned) `touch pwned` ; touch " +
			"pwned"}, 64,
			"lockproof-virtual", "", "::error title=Lockproof::The inputs are wrong"},
		{"an input that is none", map[string]string{"inconclusive": "ignore"}, 64, "", "", "ignore: this takes fail or pass"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t, c.inputs)
			r.bin = bin
			require.Equal(t, c.code, r.run(t), r.log)
			require.Contains(t, r.log, c.log)
			require.Contains(t, r.summary, c.summary)
			require.Equal(t, c.artifact, r.outputs["steps.prepare.outputs.artifact"])
			require.NoFileExists(t, filepath.Join(r.work, "pwned"))
			if c.summary != "" {
				require.FileExists(t, filepath.Join(r.work, r.given["out"], "junit.xml"))
				require.FileExists(t, filepath.Join(r.work, r.given["out"], "report.html"))
				if c.name != "inconclusive, which may pass" {
					require.Equal(t, fmt.Sprint(c.code), r.outputs["steps.run.outputs.exit-code"])
				}
			}
		})
	}
}

func testFiles(t *testing.T, bin string) {
	r := newRunner(t, map[string]string{"names": "./locks/*.yaml"})
	r.bin = bin
	require.NoError(t, os.Mkdir(filepath.Join(r.work, "locks"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.work, "locks", "ours.yaml"),
		[]byte(strings.Replace(read(t, "../../scenarios/flushall.yaml"), "name: flushall", "name: ours", 1)), 0o644))
	require.Zero(t, r.run(t), r.log)
	require.Contains(t, r.summary, "\nours      ✗ mutual-exclusion")
}

// Slices on separate machines, then the merge job with their artifacts.
func testSlices(t *testing.T, bin string) {
	merge := newRunner(t, map[string]string{"merge": "slices/*"})
	merge.bin = bin
	var artifacts []string
	for _, slice := range []string{"1/2", "2/2"} {
		r := newRunner(t, map[string]string{"names": "late-release flushall", "slice": slice})
		r.bin = bin
		require.Zero(t, r.run(t), r.log)
		artifact := r.outputs["steps.prepare.outputs.artifact"]
		artifacts = append(artifacts, artifact)
		require.NoError(t, os.CopyFS(filepath.Join(merge.work, "slices", artifact),
			os.DirFS(filepath.Join(r.work, r.given["out"]))))
	}
	require.Equal(t, []string{"lockproof-virtual-1-of-2", "lockproof-virtual-2-of-2"}, artifacts)
	require.Zero(t, merge.run(t), merge.log)
	require.Equal(t, "lockproof", merge.outputs["steps.prepare.outputs.artifact"])
	require.Contains(t, merge.summary, "1 holds, 2 violated as expected; 3 trials in ")

	require.NoError(t, os.RemoveAll(filepath.Join(merge.work, "slices", artifacts[0])))
	again := newRunner(t, map[string]string{"merge": "slices/*"})
	again.bin, again.work = bin, merge.work
	require.Equal(t, 4, again.run(t))
	require.Contains(t, again.summary, "Of 2 slices, missing: 1: 2 of 3 trials were not run.")
}

// The summary exceeds GitHub's limit. It is cut at a line, with a note, and its fence is closed.
func TestAction_LongSummary_IsCut(t *testing.T) {
	r := newRunner(t, nil)
	long := "```text\n" + strings.Repeat(strings.Repeat("é", 40)+"\n", 20_000) + "```\n"
	require.NoError(t, os.MkdirAll(filepath.Join(r.work, r.given["out"]), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.work, r.given["out"], "summary.md"), []byte(long), 0o644))
	show := slices.IndexFunc(r.Runs.Steps, func(s actionStep) bool { return s.Name == "Show the summary" })
	r.Runs.Steps = r.Runs.Steps[show : show+1]
	require.Zero(t, r.run(t), r.log)
	require.Less(t, len(r.summary), 1<<20)
	text, more, _ := strings.Cut(r.summary, "\n```\n\n")
	require.True(t, strings.HasPrefix(long, text+"\n"))
	require.Greater(t, len(text), 900_000)
	require.Equal(t, "There is more in `summary.md` of the artifact.", more)
}
