//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/explore"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

// The engines' jobs go through fewer schedules here than a million, and of a lock that is
// soon broken.
const searched = 434

var broken = []string{"--lock=redlock", "--without=Majority", "--seed=3", fmt.Sprint("--schedules=", searched)}

// image makes the container image of `make image` under a name of its own, and gives
// how to run it as somebody else than root, with a folder as /slices.
func image(t *testing.T) func(slices string, env []string, args ...string) (string, int) {
	needs.Check(t, needs.Engine, engineAvailable())
	_, err := exec.LookPath("docker") // the client
	needs.Check(t, needs.Engine, err)
	name := fmt.Sprintf("lockproof-image-test:%d", os.Getpid())
	recipe, err := filepath.Abs("../../Dockerfile")
	require.NoError(t, err)
	said, err := exec.Command("docker", "build", "--quiet", "--tag", name, "--file", recipe, filepath.Dir(build(t))).CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", name).Run() })
	return func(slices string, env []string, args ...string) (string, int) {
		t.Helper()
		command := []string{"run", "--rm", "--network", "none", "--user", "1000", "--volume", slices + ":/slices"}
		for _, variable := range env {
			command = append(command, "--env", variable)
		}
		said, err := exec.CommandContext(t.Context(), "docker", append(append(command, name), args...)...).CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			require.NoError(t, err)
			return string(said), 0
		}
		return string(said), ended.ExitCode()
	}
}

// small is an engine's command with another lock, and with fewer schedules in fewer slices.
func small(t *testing.T, command []string) []string {
	t.Helper()
	text := strings.Join(command, "\n")
	for _, usual := range []string{"\n--lock=redsync", "\n--schedules=1000000"} {
		require.Contains(t, text, usual)
		text = strings.Replace(text, usual, "", 1)
	}
	return append(strings.Split(strings.ReplaceAll(text, "INDEX/100", "INDEX/3"), "\n"), broken...)
}

// engineJobs are the commands of docs/ci's jobs, and what tells each its slice.
func engineJobs(t *testing.T) map[string]struct {
	command []string
	slice   func(i int) []string
} {
	var job struct {
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
	text, err := os.ReadFile("../../docs/ci/kubernetes.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &job))
	var batch batchDefinition
	strictJSON(t, "../../docs/ci/aws-batch-definition.json", &batch)
	return map[string]struct {
		command []string
		slice   func(i int) []string
	}{
		"Kubernetes": {small(t, job.Spec.Template.Spec.Containers[0].Args), func(i int) []string {
			return []string{fmt.Sprint("JOB_COMPLETION_INDEX=", i)}
		}},
		"AWS Batch": {small(t, batch.ContainerProperties.Command), func(i int) []string {
			return []string{fmt.Sprint("AWS_BATCH_JOB_ARRAY_INDEX=", i)}
		}},
	}
}

// shared is a folder that whoever runs in a container can write to.
func shared(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

// cameTo is what a search has come to, without what tells of real time.
func cameTo(t *testing.T, dir string) explore.Tally {
	t.Helper()
	results, err := explore.Read(dir)
	require.NoError(t, err)
	tally := results.Tally
	tally.Elapsed = 0
	for i := range tally.Finds {
		tally.Finds[i].At = 0
	}
	return tally
}

// Each engine's job, as docs/ci has it, runs in the image; its slices merge to what one
// machine comes to, and one that died runs again alone.
func TestTheImageRunsTheEnginesJobs(t *testing.T) {
	run := image(t)
	one := shared(t)
	said, code := run(one, nil, append([]string{"explore", "--out=/slices/whole"}, broken...)...)
	require.Equal(t, reports.ExitDiffers, code, said)
	whole := cameTo(t, filepath.Join(one, "whole"))
	require.NotEmpty(t, whole.Finds, "a search that finds nothing shows less")
	for name, job := range engineJobs(t) {
		t.Run(name, func(t *testing.T) {
			slices := shared(t)
			for _, i := range []int{0, 2} {
				said, code := run(slices, job.slice(i), job.command...)
				require.Contains(t, []int{0, reports.ExitDiffers}, code, said)
			}
			said, _ := run(slices, nil, "merge", "/slices/*", "--out", "/slices/all")
			require.Contains(t, said, "Of 3 slices, 1 is missing")
			said, code := run(slices, job.slice(1), job.command...)
			require.Contains(t, []int{0, reports.ExitDiffers}, code, said)
			said, code = run(slices, nil, "merge", "/slices/*", "--out", "/slices/all")
			require.Equal(t, reports.ExitDiffers, code, said)
			require.Equal(t, whole, cameTo(t, filepath.Join(slices, "all")))
		})
	}
}
