package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
)

func TestParseVersion(t *testing.T) {
	for out, want := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n": "redis 7.0.15",
		"Redis server v=8.0.2 sha=0":         "redis 8.0.2",
		"Valkey server v=8.1.1 sha=00000000": "valkey 8.1.1",
	} {
		p, err := parseVersion(out)
		require.NoError(t, err)
		require.Equal(t, want, p.String())
	}
	for out, want := range map[string]string{
		"Redis server v=6.2.14 sha=0": "version 6.2.14 is too old: 7.0 or later is needed",
		"hello\n":                     `"hello" is not the version line of a Redis server`,
		"":                            `"" is not the version line of a Redis server`,
	} {
		_, err := parseVersion(out)
		require.EqualError(t, err, want)
	}
}

func TestMissingServer(t *testing.T) {
	const how = "install Redis 7.0 or later (Debian and Ubuntu: apt-get install redis-server) " +
		"and have redis-server in PATH"
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	check := func(why string) {
		t.Helper()
		err := Available("")
		var u *cluster.Unsupported
		require.ErrorAs(t, err, &u)
		require.EqualError(t, err, "the local cluster cannot do any run: "+why+"; "+how)
		_, newErr := New(t.Context(), cluster.Config{}, cluster.Choice{})
		require.Equal(t, err, newErr)
	}
	file := filepath.Join(dir, "redis-server")
	check(`redis-server was not found (exec: "redis-server": executable file not found in $PATH)`)
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\nexit 9\n"), 0o700))
	check("`" + file + " --version` failed: exit status 9")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\necho 'Redis server v=5.0.7 sha=0'\n"), 0o700))
	check(file + ": version 5.0.7 is too old: 7.0 or later is needed")
}

func TestWhatLaterServersKnow(t *testing.T) {
	for version, knows := range map[string]bool{"7.0.15": false, "7.2.4": true, "8.0.2": true, "9.1.2": true, "8": false} {
		require.Equal(t, knows, program{product: "redis", version: version}.knows("WAITAOF"), version)
	}
}
