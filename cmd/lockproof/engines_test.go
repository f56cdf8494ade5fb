package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// The shape of RegisterJobDefinition's and SubmitJob's requests, as far as the example
// uses it, from the reference of AWS Batch's API.
type (
	pair struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	batchDefinition struct {
		JobDefinitionName    string   `json:"jobDefinitionName"`
		Type                 string   `json:"type"`
		PlatformCapabilities []string `json:"platformCapabilities"`
		ContainerProperties  struct {
			Image                string   `json:"image"`
			Command              []string `json:"command"`
			ResourceRequirements []pair   `json:"resourceRequirements"`
			Volumes              []struct {
				Name string `json:"name"`
				EFS  struct {
					FileSystemID      string `json:"fileSystemId"`
					TransitEncryption string `json:"transitEncryption"`
				} `json:"efsVolumeConfiguration"`
			} `json:"volumes"`
			MountPoints []struct {
				SourceVolume  string `json:"sourceVolume"`
				ContainerPath string `json:"containerPath"`
				ReadOnly      bool   `json:"readOnly"`
			} `json:"mountPoints"`
		} `json:"containerProperties"`
		RetryStrategy struct {
			Attempts       int `json:"attempts"` // from 1 to 10
			EvaluateOnExit []struct {
				OnExitCode string `json:"onExitCode"`
				Action     string `json:"action"`
			} `json:"evaluateOnExit"` // at most 5
		} `json:"retryStrategy"`
		Timeout struct {
			Seconds int `json:"attemptDurationSeconds"` // 60 at least
		} `json:"timeout"`
	}
	batchJob struct {
		JobName       string `json:"jobName"`
		JobQueue      string `json:"jobQueue"`
		JobDefinition string `json:"jobDefinition"`
		Array         struct {
			Size int `json:"size"` // from 2 to 10,000
		} `json:"arrayProperties"`
	}
)

// strictJSON reads a file that has no other fields than v's.
func strictJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(v), path)
}

func TestTheBatchArrayIsOne(t *testing.T) {
	needs.Long(t, "it runs the slices of an array of jobs")
	var definition batchDefinition
	var job batchJob
	strictJSON(t, "../../docs/ci/aws-batch-definition.json", &definition)
	strictJSON(t, "../../docs/ci/aws-batch-job.json", &job)
	require.Equal(t, "container", definition.Type)
	require.Equal(t, definition.JobDefinitionName, job.JobDefinition)
	require.True(t, 2 <= job.Array.Size && job.Array.Size <= 10_000)
	require.True(t, 1 <= definition.RetryStrategy.Attempts && definition.RetryStrategy.Attempts <= 10)
	require.LessOrEqual(t, len(definition.RetryStrategy.EvaluateOnExit), 5)
	for _, e := range definition.RetryStrategy.EvaluateOnExit {
		require.Contains(t, []string{"RETRY", "EXIT"}, e.Action)
	}
	require.GreaterOrEqual(t, definition.Timeout.Seconds, 60)
	c := definition.ContainerProperties
	require.Equal(t, c.Volumes[0].Name, c.MountPoints[0].SourceVolume)
	requireCommands(t, "lockproof "+strings.Join(c.Command, " "))
	require.Contains(t, c.Command, fmt.Sprintf("--slice=$AWS_BATCH_JOB_ARRAY_INDEX/%d", job.Array.Size))
}

// The Kubernetes job is checked by Kubernetes' own types, in a module of their own.
func TestTheKubernetesJobIsOne(t *testing.T) {
	needs.Long(t, "it runs the slices of an indexed job")
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join("..", "..", "examples", "kubernetes")
		return cmd.CombinedOutput()
	}
	out, err := run("mod", "download")
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	needs.Check(t, needs.Modules, err)
	out, err = run("test", "-v", "-count=1", ".")
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestTheKubernetesJobIsOne")
}
