package suite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindSlice_ReadsTheEnginesVariables(t *testing.T) {
	type environment map[string]string
	for _, c := range []struct {
		text string
		set  environment
		want Slice
		says string
	}{
		{text: "17/100", set: environment{"CI_NODE_INDEX": "1"}, want: Slice{17, 100}},
		// Each counts as it does, and the first and the last are there.
		{text: "auto/100", set: environment{"JOB_COMPLETION_INDEX": "0"}, want: Slice{1, 100}},
		{text: "auto/100", set: environment{"JOB_COMPLETION_INDEX": "99"}, want: Slice{100, 100}},
		{text: "auto", set: environment{"AWS_BATCH_JOB_ARRAY_INDEX": "0", "AWS_BATCH_JOB_ARRAY_SIZE": "100"}, want: Slice{1, 100}},
		{text: "auto", set: environment{"AWS_BATCH_JOB_ARRAY_INDEX": "99", "AWS_BATCH_JOB_ARRAY_SIZE": "100"}, want: Slice{100, 100}},
		{text: "auto", set: environment{"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"}, want: Slice{1, 4}},
		{text: "auto", set: environment{"CI_NODE_INDEX": "4", "CI_NODE_TOTAL": "4"}, want: Slice{4, 4}},
		{text: "auto", set: environment{"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "4"}, want: Slice{1, 4}},
		{text: "auto", set: environment{"CIRCLE_NODE_INDEX": "3", "CIRCLE_NODE_TOTAL": "4"}, want: Slice{4, 4}},
		{text: "auto", set: environment{"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "4"}, want: Slice{1, 4}},
		{text: "auto", set: environment{"BUILDKITE_PARALLEL_JOB": "3", "BUILDKITE_PARALLEL_JOB_COUNT": "4"}, want: Slice{4, 4}},
		{text: "auto", set: environment{"STRATEGY_JOB_INDEX": "0", "STRATEGY_JOB_TOTAL": "4"}, want: Slice{1, 4}},
		{text: "auto", set: environment{"STRATEGY_JOB_INDEX": "3", "STRATEGY_JOB_TOTAL": "4"}, want: Slice{4, 4}},
		// GitLab sets the total where there is no index, too; what is empty is not set.
		{text: "auto/4", set: environment{"STRATEGY_JOB_INDEX": "3", "STRATEGY_JOB_TOTAL": "", "CI_NODE_INDEX": "", "CI_NODE_TOTAL": "1"},
			want: Slice{4, 4}},
		{text: "auto/4", set: environment{"CI_NODE_INDEX": "4", "CI_NODE_TOTAL": "4"}, want: Slice{4, 4}},

		{text: "auto",
			says: "no CI engine detected (none of JOB_COMPLETION_INDEX, AWS_BATCH_JOB_ARRAY_INDEX, CI_NODE_INDEX"},
		{text: "auto", set: environment{"CI_NODE_TOTAL": "1"}, says: "no CI engine detected"},
		{text: "auto", set: environment{"JOB_COMPLETION_INDEX": "16"},
			says: "JOB_COMPLETION_INDEX gives this job's index, but not the number of jobs: write auto/100"},
		{text: "auto", set: environment{"AWS_BATCH_JOB_ARRAY_INDEX": "0"},
			says: "AWS_BATCH_JOB_ARRAY_INDEX gives this job's index, but not the number of jobs"},
		{text: "auto", set: environment{"JOB_COMPLETION_INDEX": "16", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"},
			says: "two CI engines detected, by JOB_COMPLETION_INDEX (a Kubernetes Indexed Job) and CI_NODE_INDEX (GitLab)"},
		{text: "auto/100", set: environment{"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"},
			says: "auto/100, but CI_NODE_TOTAL is 4: write auto"},
		{text: "auto/100", set: environment{"JOB_COMPLETION_INDEX": "100"},
			says: "JOB_COMPLETION_INDEX is 100, and a Kubernetes Indexed Job counts from 0: 101/100: the slices of 100 are"},
		{text: "auto", set: environment{"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "4"},
			says: "CI_NODE_INDEX is 0, and GitLab counts from 1: 0/4"},
		{text: "auto", set: environment{"CI_NODE_INDEX": "two", "CI_NODE_TOTAL": "4"}, says: `CI_NODE_INDEX is "two": want a whole number`},
		{text: "auto", set: environment{"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "-4"}, says: `CI_NODE_TOTAL is "-4": want a whole number`},
		{text: "auto", set: environment{"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "0"}, says: "from 1 to 10000 slices"},
		{text: "auto/", says: `invalid slice "auto/": want INDEX/COUNT, for example 17/100, or auto or auto/100`},
		{text: "auto/x", says: `invalid slice "auto/x"`},
		{text: "automatic", says: `invalid slice "automatic"`},
		{text: "auto/0", set: environment{"JOB_COMPLETION_INDEX": "0"}, says: "from 1 to 10000 slices"},
	} {
		got, err := FindSlice(c.text, func(name string) string { return c.set[name] })
		if c.says != "" {
			require.ErrorContains(t, err, c.says, "%s %v", c.text, c.set)
			continue
		}
		require.NoError(t, err, "%s %v", c.text, c.set)
		require.Equal(t, c.want, got, "%s %v", c.text, c.set)
	}
}
