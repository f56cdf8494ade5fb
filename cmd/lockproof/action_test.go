package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// action is the part of GitHub's schema that action.yml uses.
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

// strictly reads a YAML file, and refuses unknown keys.
func strictly(t *testing.T, path string, v any) string {
	t.Helper()
	data := read(t, path)
	require.NoError(t, yaml.UnmarshalWithOptions([]byte(data), v, yaml.Strict()), path)
	return data
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

func TestAction_InputsAreDeclaredAndUsed(t *testing.T) {
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
		require.NotContains(t, step.Run, "${{", "%s: an input must come by the environment, where it cannot become a command",
			step.Name)
	}
}

func TestAction_CommandsExist(t *testing.T) {
	a, _ := readAction(t)
	for _, step := range a.Runs.Steps {
		requireCommands(t, strings.ReplaceAll(step.Run, "\\\n", " "))
	}
}

// requireCommands requires that each call of lockproof in a script has a known
// command and known flags.
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

// workflow is the part of GitHub's workflows that the examples use.
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

func TestExampleWorkflows_FitTheAction(t *testing.T) {
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
				if step.Uses == "" {
					continue // a command
				}
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

// requireInput requires that an input accepts a value.
func requireInput(t *testing.T, input, value string) {
	t.Helper()
	switch input {
	case "on":
		require.Contains(t, cluster.Names(), value)
	case "lock":
		require.Contains(t, locks.Names(), value)
	case "slice":
		_, err := suite.ParseSlice(value)
		require.NoError(t, err)
	case "inconclusive":
		require.Contains(t, []string{"fail", "pass"}, value)
	}
}

func TestGitLabExample_CommandsExist(t *testing.T) {
	var jobs map[string]any
	text := strictly(t, "../../docs/ci/gitlab.yml", &jobs)
	require.Contains(t, jobs["stages"], "report")
	require.Equal(t, 2, requireCommands(t, text))
}
