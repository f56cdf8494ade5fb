//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

// image builds the container image of `make image` under a name of its own, and returns a
// function that runs it as another user than root, with a folder as /slices.
func image(t *testing.T) func(slices, variable string, args ...string) (string, int) {
	needs.Check(t, needs.Engine, engineAvailable())
	_, err := exec.LookPath("docker") // the client
	needs.Check(t, needs.Engine, err)
	name := fmt.Sprintf("lockproof-image-test:%d", os.Getpid())
	recipe, err := filepath.Abs("../../Dockerfile")
	require.NoError(t, err)
	said, err := exec.Command("docker", "build", "--quiet", "--tag", name, "--file", recipe,
		filepath.Dir(build(t))).CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", name).Run() })
	return func(slices, variable string, args ...string) (string, int) {
		t.Helper()
		command := []string{"run", "--rm", "--network", "none", "--user", "1000", "--volume", slices + ":/slices", "--env",
			variable, name}
		return start(t, exec.CommandContext(t.Context(), "docker", append(command, args...)...)).end(t)
	}
}

// engineJobs are the commands of docs/ci's jobs, by the variable with each job's slice.
func engineJobs(t *testing.T) map[string][]string {
	var kubernetes struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args []string `yaml:"args"`
					} `yaml:"containers"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "../../docs/ci/kubernetes.yaml")), &kubernetes))
	var batch struct{ ContainerProperties struct{ Command []string } }
	require.NoError(t, json.Unmarshal([]byte(read(t, "../../docs/ci/aws-batch-definition.json")), &batch))
	return map[string][]string{"JOB_COMPLETION_INDEX": kubernetes.Spec.Template.Spec.Containers[0].Args,
		"AWS_BATCH_JOB_ARRAY_INDEX": batch.ContainerProperties.Command}
}

func TestEngineJobs_CommandsExist(t *testing.T) {
	for variable, command := range engineJobs(t) {
		require.Equal(t, 1, requireCommands(t, "lockproof "+strings.Join(command, " ")))
		require.Contains(t, command, "--slice=$"+variable+"/100")
	}
	for file, size := range map[string]string{"kubernetes.yaml": "completions: 100 ",
		"aws-batch-job.json": `{"size": 100}`} {
		require.Contains(t, read(t, filepath.Join("../../docs/ci", file)), size, "as many jobs as slices")
	}
}

// Each engine's job of docs/ci, made smaller, runs in the image, and its slices are merged there.
func TestImage_RunsTheEnginesJobs(t *testing.T) {
	run := image(t)
	for variable, command := range engineJobs(t) {
		t.Run(variable, func(t *testing.T) {
			text := strings.Join(command, "\n")
			require.Contains(t, text, "--trials=1000")
			text = strings.Replace(strings.Replace(text, "--trials=1000", "--trials=1", 1), "INDEX/100", "INDEX/2", 1)
			slices := t.TempDir()
			require.NoError(t, os.Chmod(slices, 0o777)) // for the container's user
			for i := range 2 {
				said, code := run(slices, fmt.Sprint(variable, "=", i), strings.Split(text, "\n")...)
				require.Contains(t, []int{0, reports.ExitDiffers, reports.ExitInconclusive}, code, said)
			}
			said, code := run(slices, variable, "merge", "/slices/*", "--out", "/slices/all")
			require.Equal(t, reports.ExitDiffers, code, said)
			require.NotContains(t, said, "were not run")
		})
	}
}
