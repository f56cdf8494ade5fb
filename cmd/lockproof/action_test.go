package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"lockproof/harness"
	"lockproof/harness/locks"
)

// action is action.yml. GitHub's own schema allows more; what is not here is
// not used.
type action struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Branding    map[string]string `yaml:"branding"`
	Inputs      map[string]struct {
		Description string  `yaml:"description"`
		Default     *string `yaml:"default"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Description string `yaml:"description"`
		Value       string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string       `yaml:"using"`
		Steps []actionStep `yaml:"steps"`
	} `yaml:"runs"`
}

type actionStep struct {
	ID    string         `yaml:"id"`
	Name  string         `yaml:"name"`
	If    string         `yaml:"if"`
	Uses  string         `yaml:"uses"`
	With  map[string]any `yaml:"with"`
	Shell string         `yaml:"shell"`
	Env   map[string]any `yaml:"env"`
	Run   string         `yaml:"run"`
}

// strictly reads a YAML file that may have no other keys than v's.
func strictly(t *testing.T, path string, v any) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalWithOptions(data, v, yaml.Strict()), path)
	return string(data)
}

func readAction(t *testing.T) (a action, text string) {
	t.Helper()
	text = strictly(t, "../../action.yml", &a)
	require.Equal(t, "composite", a.Runs.Using)
	return a, text
}

var (
	expression = regexp.MustCompile(`\$\{\{ *([\w.-]+) *\}\}`)
	pinned     = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	longFlag   = regexp.MustCompile(`(?:^|[\s+-])--([a-z][a-z-]*)`)
)

func TestTheActionUsesWhatItDeclares(t *testing.T) {
	a, text := readAction(t)
	for name, input := range a.Inputs {
		require.NotEmpty(t, input.Description, name)
		require.NotNil(t, input.Default, "%s is not required, and needs a default", name)
		require.Contains(t, text, "inputs."+name+" ", "the input %s is used nowhere", name)
	}
	for _, m := range regexp.MustCompile(`inputs\.([\w-]+)`).FindAllStringSubmatch(text, -1) {
		require.Contains(t, a.Inputs, m[1])
	}
	for _, step := range a.Runs.Steps {
		if step.Uses != "" {
			require.Regexp(t, pinned, step.Uses, "pinned to a commit")
			continue
		}
		require.Equal(t, "bash", step.Shell, step.Name)
		require.NotContains(t, step.Run, "${{", "%s: an input must come by the environment, where it cannot become a command", step.Name)
	}
}

func TestTheActionsCommandsExist(t *testing.T) {
	a, _ := readAction(t)
	for _, step := range a.Runs.Steps {
		requireCommands(t, strings.ReplaceAll(step.Run, "\\\n", " "))
	}
}

// requireCommands requires that each line that calls lockproof calls a command
// that exists, with flags that it has.
func requireCommands(t *testing.T, script string) (found int) {
	t.Helper()
	root := fake(expected).root()
	for line := range strings.Lines(script) {
		m := regexp.MustCompile(`(?:^\s*|[;!] |- bin/)lockproof ([a-z]+)(.*)`).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found++
		cmd, _, err := root.Find([]string{m[1]})
		require.NoError(t, err, line)
		for _, flag := range longFlag.FindAllStringSubmatch(m[2], -1) {
			require.NotNil(t, cmd.Flags().Lookup(flag[1]), "lockproof %s has no --%s: %s", m[1], flag[1], line)
		}
	}
	return found
}

// workflow is what the examples use of GitHub's workflows.
type workflow struct {
	Name        string            `yaml:"name"`
	On          any               `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		If       string `yaml:"if"`
		Needs    any    `yaml:"needs"`
		RunsOn   string `yaml:"runs-on"`
		Timeout  int    `yaml:"timeout-minutes"`
		Strategy struct {
			FailFast *bool               `yaml:"fail-fast"`
			Matrix   map[string][]string `yaml:"matrix"`
		} `yaml:"strategy"`
		Steps []actionStep `yaml:"steps"`
	} `yaml:"jobs"`
}

func TestTheExampleWorkflowsFitTheAction(t *testing.T) {
	a, _ := readAction(t)
	for _, name := range []string{"github.yml", "own-lock.yml"} {
		var w workflow
		strictly(t, filepath.Join("../../docs/ci", name), &w)
		require.Equal(t, map[string]string{"contents": "read"}, w.Permissions)
		ours := 0
		for id, job := range w.Jobs {
			require.Positive(t, job.Timeout, "%s: %s", name, id)
			for key, values := range job.Strategy.Matrix {
				for _, value := range values {
					requireInput(t, key, value)
				}
			}
			for _, step := range job.Steps {
				if step.Uses != "./" && step.Uses != "your-org/lockproof@v1" {
					require.Regexp(t, pinned, step.Uses)
					continue
				}
				ours++
				for key, value := range step.With {
					require.Contains(t, a.Inputs, key, "%s: %s", name, id)
					if text := fmt.Sprint(value); !strings.Contains(text, "${{") {
						requireInput(t, key, text)
					}
				}
			}
		}
		require.Positive(t, ours, name)
	}
}

// requireInput requires that a value is one that its input takes.
func requireInput(t *testing.T, input, value string) {
	t.Helper()
	switch input {
	case "on":
		require.Contains(t, harness.Clusters, value)
	case "lock":
		require.Contains(t, locks.Names(), value)
	case "shard":
		_, err := harness.ParseShard(value)
		require.NoError(t, err)
	case "inconclusive":
		require.Contains(t, []string{"fail", "pass"}, value)
	}
}

func TestTheGitLabExampleCallsWhatExists(t *testing.T) {
	var jobs map[string]any
	text := strictly(t, "../../docs/ci/gitlab.yml", &jobs)
	require.Contains(t, jobs["stages"], "report")
	require.Equal(t, 2, requireCommands(t, text))
}

// runner runs an action's shell steps as GitHub's does, and leaves the actions
// that it uses alone.
type runner struct {
	action
	root, temp, work string
	bin              string // where the program is built already, or ""
	given            map[string]string
	outputs          map[string]string // "steps.ID.outputs.NAME"
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
	return &runner{action: a, root: root, temp: t.TempDir(), work: t.TempDir(), given: inputs, outputs: map[string]string{}}
}

// run runs all steps, and gives the exit code of the first that fails.
func (r *runner) run(t *testing.T) (code int) {
	t.Helper()
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

// due says whether a step runs: after a failure only what always does. The one
// step with another condition is not for the virtual cluster.
func (r *runner) due(t *testing.T, condition string, code int) bool {
	switch {
	case condition == "":
		return code == 0
	case strings.HasPrefix(condition, "always()"):
		return true
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

// TestTheActionRuns builds once, as the first of its runs does.
func TestTheActionRuns(t *testing.T) {
	first := newRunner(t, map[string]string{"names": "flushall"})
	require.Zero(t, first.run(t), first.log)
	require.Contains(t, first.summary, "## Lockproof: as expected")
	bin := filepath.Join(first.temp, "lockproof")
	t.Run("inputs", func(t *testing.T) { testInputs(t, bin) })
	t.Run("files of the repository", func(t *testing.T) { testFiles(t, bin) })
	t.Run("shards", func(t *testing.T) { testShards(t, bin) })
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
		{"inconclusive", map[string]string{"names": "slow-acquire", "lock": "redsync"}, 2, "lockproof-virtual-redsync",
			"## Lockproof: inconclusive", "::error title=Lockproof::Nothing differs"},
		{"inconclusive, which may pass", map[string]string{"names": "slow-acquire", "lock": "redsync", "inconclusive": "pass", "artifact": "mine"}, 0,
			"mine", "## Lockproof: inconclusive", "::warning title=Lockproof::Nothing differs"},
		{"a name that does not exist", map[string]string{"names": "late-relaese"}, 64, "lockproof-virtual", "",
			`did you mean "late-release"?`},
		{"an input that tries to be a command", map[string]string{"names": "flushall $(touch pwned) `touch pwned` ; touch pwned"}, 64,
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
	data, err := os.ReadFile("../../scenarios/flushall.yaml")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(r.work, "locks"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.work, "locks", "ours.yaml"), bytes.Replace(data, []byte("name: flushall"), []byte("name: ours"), 1), 0o644))
	require.Zero(t, r.run(t), r.log)
	require.Contains(t, r.summary, "<code>ours</code>")
}

// Shards on machines of their own, then the merge job with their artifacts.
func testShards(t *testing.T, bin string) {
	merge := newRunner(t, map[string]string{"merge": "shards/*"})
	merge.bin = bin
	var artifacts []string
	for _, shard := range []string{"1/2", "2/2"} {
		r := newRunner(t, map[string]string{"names": "late-release flushall", "shard": shard})
		r.bin = bin
		require.Zero(t, r.run(t), r.log)
		artifact := r.outputs["steps.prepare.outputs.artifact"]
		artifacts = append(artifacts, artifact)
		require.NoError(t, os.CopyFS(filepath.Join(merge.work, "shards", artifact), os.DirFS(filepath.Join(r.work, r.given["out"]))))
	}
	require.Equal(t, []string{"lockproof-virtual-1-of-2", "lockproof-virtual-2-of-2"}, artifacts)
	require.Zero(t, merge.run(t), merge.log)
	require.Equal(t, "lockproof", merge.outputs["steps.prepare.outputs.artifact"])
	require.Contains(t, merge.summary, "3 as expected; 3 trials in ")

	require.NoError(t, os.RemoveAll(filepath.Join(merge.work, "shards", artifacts[0])))
	again := newRunner(t, map[string]string{"merge": "shards/*"})
	again.bin, again.work = bin, merge.work
	require.Equal(t, exitUsage, again.run(t))
	require.Contains(t, again.log, "shard 1/2 is missing")
}

// A summary longer than GitHub takes is cut at a line, and says so.
func TestTheActionCutsALongSummary(t *testing.T) {
	r := newRunner(t, nil)
	long := strings.Repeat(strings.Repeat("é", 40)+"\n", 20_000)
	require.NoError(t, os.MkdirAll(filepath.Join(r.work, r.given["out"]), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.work, r.given["out"], "summary.md"), []byte(long), 0o644))
	show := slices.IndexFunc(r.Runs.Steps, func(s actionStep) bool { return s.Name == "Show the summary" })
	r.Runs.Steps = r.Runs.Steps[show : show+1]
	require.Zero(t, r.run(t), r.log)
	require.Less(t, len(r.summary), 1<<20)
	text, more, _ := strings.Cut(r.summary, "\n\n\n")
	require.True(t, strings.HasPrefix(long, text+"\n"))
	require.Greater(t, len(text), 900_000)
	require.Equal(t, "There is more in `summary.md` of the artifact.", more)
}
