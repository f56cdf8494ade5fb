package locktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func called() callSite { return callerOfRun() }

func TestAnnotate_NamesTheLineOfTheTest(t *testing.T) {
	at := called()
	require.Equal(t, "annotation_test.go", at.file)
	folder, err := os.Getwd()
	require.NoError(t, err)
	var b strings.Builder
	at = callSite{file: "lock_test.go", line: 38}
	at.annotate(&b, filepath.Dir(filepath.Dir(folder)), "late-set", "100 %\nof it: a, b")
	require.Equal(t, "::error file=harness/locktest/lock_test.go,line=38,title=late-set::100 %25%0Aof it: a, b\n",
		b.String())

	b.Reset()
	at.annotate(&b, "", "late-set", "no machine of GitHub's")
	at.annotate(&b, filepath.Join(folder, "elsewhere"), "late-set", "another repository")
	require.Empty(t, b.String())
}
