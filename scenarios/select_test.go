package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every file of the folder is in the catalogue, and has its scenario's name.
func TestCatalogueLoads(t *testing.T) {
	all, err := Catalogue()
	require.NoError(t, err)
	found, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	for i, file := range found {
		found[i] = strings.TrimSuffix(file, ".yaml")
	}
	require.ElementsMatch(t, found, namesOf(all), "catalogue.go lists them in their order")
}

func namesOf(all []*Scenario) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

func scenarioText(name string) []byte {
	return []byte(strings.Replace(frame, "framed", name, 1) + "workload: {clients: 1, for: 1s}\n")
}

func smallCatalogue(t *testing.T) (all []*Scenario) {
	t.Helper()
	for _, name := range []string{"client-pause", "delayed-write", "delayed-restart"} {
		s, err := Parse(catalogueFolder+name+".yaml", scenarioText(name))
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

func TestSelect(t *testing.T) {
	everything := []string{"client-pause", "delayed-write", "delayed-restart"}
	mine := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(mine, scenarioText("my-own"), 0o644))
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"nothing is everything", nil, everything},
		{"a name", []string{"delayed-write"}, []string{"delayed-write"}},
		{"in the order of the arguments", []string{"delayed-restart", "client-pause"},
			[]string{"delayed-restart", "client-pause"}},
		{"each once", []string{"delayed-*", "delayed-write"}, []string{"delayed-write", "delayed-restart"}},
		{"a glob", []string{"client-?ause"}, []string{"client-pause"}},
		{"everything by a glob", []string{"*"}, everything},
		{"a file", []string{mine}, []string{"my-own"}},
		{"a file twice", []string{mine, mine}, []string{"my-own"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := selectFrom(smallCatalogue(t), c.args)
			require.NoError(t, err)
			require.Equal(t, c.want, namesOf(got))
		})
	}
}

func TestSelect_InvalidArgument_Fails(t *testing.T) {
	twin := filepath.Join(t.TempDir(), "twin.yaml")
	require.NoError(t, os.WriteFile(twin, scenarioText("client-pause"), 0o644))
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"a typo", []string{"client-puase"}, `unknown scenario "client-puase"; did you mean "client-pause"?`},
		{"nothing like it", []string{"xyzzy"},
			"unknown scenario \"xyzzy\"; `lockproof list` shows their names; a file needs its path, for example ./my.yaml"},
		{"a glob for nothing", []string{"xyzzy-*"}, "no scenario matches \"xyzzy-*\"; `lockproof list` shows their names"},
		{"a broken glob", []string{"a[b"}, `"a[b" is not a glob: a [ needs its ]`},
		{"a folder", []string{"testdata"},
			"testdata is a folder; name the files in it, for example testdata/*.yaml"},
		{"an absent file", []string{"./no/such.yaml"},
			"cannot read the scenario file ./no/such.yaml: no such file or directory"},
		{"two of one name", []string{"client-pause", twin},
			"scenarios/client-pause.yaml and " + twin +
				` are both named "client-pause": results are stored by name, so rename one`},
		{"every one", []string{"xyzzy-*", "a[b"},
			"no scenario matches \"xyzzy-*\"; `lockproof list` shows their names\n\"a[b\" is not a glob: a [ needs its ]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := selectFrom(smallCatalogue(t), c.args)
			require.EqualError(t, err, c.want)
			require.Nil(t, got)
		})
	}
}

func TestSelect_FileWithoutSuffix(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine", scenarioText("my-own"), 0o644))
	got, err := selectFrom(smallCatalogue(t), []string{"mine"})
	require.NoError(t, err)
	require.Equal(t, []string{"my-own"}, namesOf(got))
}
