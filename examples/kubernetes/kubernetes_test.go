package kubernetes

import (
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func TestKubernetesJob_IsAnIndexedJob(t *testing.T) {
	text, err := os.ReadFile("../../docs/ci/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job batchv1.Job
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		t.Fatal(err)
	}
	s := job.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || s.CompletionMode == nil ||
		*s.CompletionMode != batchv1.IndexedCompletion {
		t.Fatalf("not an Indexed Job: %s %s", job.APIVersion, job.Kind)
	}
	if *s.Completions != 100 || !strings.Contains(strings.Join(s.Template.Spec.Containers[0].Args, " "),
		"--slice=$JOB_COMPLETION_INDEX/100") {
		t.Fatal("completions and slices differ in number")
	}
	broken := strings.Replace(string(text), "completions:", "completion:", 1)
	if yaml.UnmarshalStrict([]byte(broken), &job) == nil {
		t.Fatal("an unknown field is accepted")
	}
}
