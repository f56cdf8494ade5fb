package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestCatalogueLoads(t *testing.T) {
	all, err := Catalogue()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	names := namesOf(all)
	require.True(t, slices.IsSortedFunc(names, compareInCatalogue), "%v", names)
	for _, s := range all {
		require.NotEmpty(t, s.Source, s.Name)
		require.NotEmpty(t, s.Lesson, s.Name)
	}
}

func namesOf(all []*Scenario) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// file is a scenario of that name in a catalogue for tests.
func file(name string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.Replace(frame, "framed", name, 1) + "workload: {clients: 1, for: 1s}\n")}
}

func TestCatalogueOrder(t *testing.T) {
	all, err := catalogue(fstest.MapFS{
		"zebra.yaml": file("zebra"), "flushall.yaml": file("flushall"), "client-pause.yaml": file("client-pause"),
		"antelope.yaml": file("antelope"), "healthy-contention.yaml": file("healthy-contention"),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"healthy-contention", "client-pause", "flushall", "antelope", "zebra"}, namesOf(all))
}

func TestCatalogueReportsEveryBrokenFile(t *testing.T) {
	_, err := catalogue(fstest.MapFS{
		"a.yaml": file("b"), "c.yaml": {Data: []byte("name: [\n")}, "d.yaml": file("d"),
	})
	require.ErrorContains(t, err, `scenarios/a.yaml:1:7: the name is "b" in a file named a.yaml; in the catalogue both are the same`)
	require.ErrorContains(t, err, "scenarios/c.yaml:1:7: this is not YAML")
}

// small is a catalogue for tests.
func small(t *testing.T) []*Scenario {
	t.Helper()
	all, err := catalogue(fstest.MapFS{
		"client-pause.yaml": file("client-pause"), "delayed-restart.yaml": file("delayed-restart"),
		"delayed-write.yaml": file("delayed-write"),
	})
	require.NoError(t, err)
	return all
}

func TestSelect(t *testing.T) {
	everything := []string{"client-pause", "delayed-write", "delayed-restart"}
	mine := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(mine, file("my-own").Data, 0o644))
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"nothing is everything", nil, everything},
		{"a name", []string{"delayed-write"}, []string{"delayed-write"}},
		{"in the order of the arguments", []string{"delayed-restart", "client-pause"}, []string{"delayed-restart", "client-pause"}},
		{"each once", []string{"delayed-*", "delayed-write"}, []string{"delayed-write", "delayed-restart"}},
		{"a glob", []string{"client-?ause"}, []string{"client-pause"}},
		{"everything by a glob", []string{"*"}, everything},
		{"a file", []string{mine}, []string{"my-own"}},
		{"a file twice", []string{mine, mine}, []string{"my-own"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := selectFrom(small(t), c.args)
			require.NoError(t, err)
			require.Equal(t, c.want, namesOf(got))
		})
	}
}

func TestSelectRefuses(t *testing.T) {
	twin := filepath.Join(t.TempDir(), "twin.yaml")
	require.NoError(t, os.WriteFile(twin, file("client-pause").Data, 0o644))
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"a typo", []string{"client-puase"}, `unknown scenario "client-puase"; did you mean "client-pause"?`},
		{"nothing like it", []string{"xyzzy"},
			"unknown scenario \"xyzzy\"; `lockproof list` shows their names, and a file is given by its path, for example ./my.yaml"},
		{"a glob for nothing", []string{"xyzzy-*"}, "no scenario matches \"xyzzy-*\"; `lockproof list` shows their names"},
		{"a broken glob", []string{"a[b"}, `"a[b" is not a glob: a [ needs its ]`},
		{"an absent file", []string{"./no/such.yaml"},
			"read the scenario file: open ./no/such.yaml: no such file or directory"},
		{"two of one name", []string{"client-pause", twin},
			"scenarios/client-pause.yaml and " + twin + ` are both named "client-pause": results go by name, so give one another name`},
		{"every one", []string{"xyzzy-*", "a[b"},
			"no scenario matches \"xyzzy-*\"; `lockproof list` shows their names\n\"a[b\" is not a glob: a [ needs its ]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := selectFrom(small(t), c.args)
			require.EqualError(t, err, c.want)
			require.Nil(t, got)
		})
	}
}

func TestSelect_FileWithoutSuffix(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine", file("my-own").Data, 0o644))
	got, err := selectFrom(small(t), []string{"mine"})
	require.NoError(t, err)
	require.Equal(t, []string{"my-own"}, namesOf(got))
}
