package scenarios

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzParse looks for text that makes the loader panic, and holds it to its
// promises: a scenario or an error, and an error made of problems with places.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "testdata/bad/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		began := time.Now()
		s, err := Parse("fuzz.yaml", data)
		require.Less(t, time.Since(began), 10*time.Second, "a user waits for the answer")
		if err == nil {
			require.NotNil(t, s)
			require.NotEmpty(t, s.Name)
			require.True(t, len(s.Script) > 0 || s.Workload != nil)
			return
		}
		require.Nil(t, s)
		joined, ok := err.(interface{ Unwrap() []error })
		require.True(t, ok)
		for _, e := range joined.Unwrap() {
			p, ok := e.(*Problem)
			require.True(t, ok)
			require.Positive(t, p.Line)
			require.Positive(t, p.Column)
			require.NotEmpty(t, p.What)
			require.NotEmpty(t, p.Right)
		}
	})
}
