package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/input/inputtest"
)

// Parse never panics. It returns either a scenario or an error that consists of problems with positions.
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
	for _, bomb := range inputtest.YAML() {
		f.Add([]byte(bomb))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s *Scenario
		var err error
		inputtest.Bounded(t, len(data), func() { s, err = Parse("fuzz.yaml", data) })
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
			require.NotEmpty(t, p.Want)
		}
	})
}

// Select returns scenarios or an error for any argument.
func FuzzSelect(f *testing.F) {
	for _, arg := range []string{"aof-*", "[", "[a-", "client-pause", strings.Repeat("*a", 10_000),
		strings.Repeat("?", 300), "\\"} {
		f.Add(arg)
	}
	all, err := Catalogue()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, arg string) {
		if isPath(arg) {
			return // FuzzParse covers files
		}
		inputtest.Bounded(t, len(arg), func() {
			found, err := selectFrom(all, []string{arg})
			require.True(t, len(found) > 0 == (err == nil))
		})
	})
}

func FuzzSpan(f *testing.F) {
	for _, text := range []string{"1.2 ttl", "-50ms", "1 ttl + 50ms", "9999999h", strings.Repeat("1h", 10_000),
		"1e9999 ttl"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inputtest.Bounded(t, len(text), func() {
			s, err := ParseSpan(text)
			if err == nil {
				require.LessOrEqual(t, s.Fixed.Abs(), maxFixedSpan)
				require.LessOrEqual(t, max(s.TTLs, -s.TTLs), float64(maxSpanTTLs))
			}
		})
	})
}
