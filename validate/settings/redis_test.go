package settings

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pgregory.net/rapid"

	"example.org/lockproof/internal/input/inputtest"
)

func TestAt_ReturnsThePlaceOfEachSetting(t *testing.T) {
	r, err := ReadRedis("testdata/redis/8-included.conf")
	require.NoError(t, err)
	set, err := ParseLines([]string{"maxmemory 1gb"})
	require.NoError(t, errors.Join(err, r.Apply(set)))
	for name, want := range map[string]string{
		"appendonly": "testdata/redis/parts/site.conf:1", "appendfsync": "testdata/redis/8-included.conf:6",
		"save": "testdata/redis/8-included.conf:5", "maxmemory": `--set "maxmemory 1gb"`,
	} {
		at := r.At(name)
		require.Equal(t, want, at.String())
	}
	require.Zero(t, r.At("maxmemory-policy"))
	require.Equal(t, []string{`a "quoted" secret`}, r.Directives[2].Args)
	require.ElementsMatch(t, []string{"testdata/redis/8-included.conf", "testdata/redis/parts/site.conf"}, r.Files,
		"what is given beside them is in none")
	require.Len(t, r.Remarks, 1)
	require.Contains(t, r.Remarks[0].What, "include parts/*.conf has a relative name")
}

func TestSave_AddsUpAndEndsTheDefaults(t *testing.T) {
	tests := []struct {
		text string
		want string
	}{
		{"save 60 1", "save 60 1"},
		{"save 60 1\nsave 30 2", "save 60 1 30 2"},
		{"save 60 1\nsave \"\"\nsave 30 2", "save 30 2"},
		{"save ''", `save ""`},
		{`save "60 1 30 2"`, "save 60 1 30 2"},
		{"", "save 3600 1 300 100 60 10000"},
	}
	for _, tt := range tests {
		r, err := ParseRedis("x", tt.text)
		require.NoError(t, err)
		require.Equal(t, tt.want, r.Lines()[0], tt.text)
	}
	require.Equal(t, []string{"save 3600 1 300 100 60 10000", "appendonly no", "appendfsync everysec",
		"no-appendfsync-on-rewrite no"}, Default().Lines())
}

func TestProblems_HavePlaceAndRemedy(t *testing.T) {
	tests := []struct{ text, want string }{
		{"appendfsync sometimes",
			"x.conf:1:1: appendfsync sometimes: there is no such value; there are always, everysec, no"},
		{"\n\nappendonly", "x.conf:3:1: appendonly takes one value, and has 0; give one"},
		{"save 60", `x.conf:1:1: "60" is not a list of rules; give pairs`},
		{"save x 1", "is not a list of rules"},
		{"save 1 x", `"x" is not a number of changes`},
		{"save", "save has no rule"},
		{"maxmemory 10zb", "maxmemory 10zb: this is not an amount of memory; write it as in 100mb or 2gb"},
		{"maxmemory-policy lru", "there are noeviction"},
		{"min-replicas-max-lag -1", "give a whole number"},
		{"min-replicas-max-lag 1.5", "give a whole number"},
		{`requirepass "open`, "x.conf:1:1: the quotes are not balanced; close each quote"},
		{"appenddirname ../elsewhere", "x.conf:1:1: appenddirname ../elsewhere: Redis takes a name here, and no path; name " +
			"the folder by dir"},
		{"dbfilename /dev/shm/d.rdb", "Redis takes a name here"},
		{"appendonly maybe\nappendfsync never", "x.conf:2:1: appendfsync never"},
		{"\x00", "x.conf:1:1: there is a zero byte"},
		{"a b\n\n\x00\n", "x.conf:3:1: there is a zero byte"},
	}
	for _, tt := range tests {
		_, err := ParseRedis("x.conf", tt.text)
		require.ErrorContains(t, err, tt.want, tt.text)
	}
}

func TestIncludes_Cycle_Fails(t *testing.T) {
	dir := t.TempDir()
	first := write(t, dir, "a.conf", "include b.conf\n")
	write(t, dir, "b.conf", "appendonly yes\ninclude a.conf\n")
	_, err := ReadRedis(first)
	require.ErrorContains(t, err, "b.conf:2:1: the files include one another: ")

	write(t, dir, "b.conf", "include none/*.conf\nappendonly yes\n")
	r, err := ReadRedis(first)
	require.NoError(t, err, "a pattern may match nothing")
	require.True(t, r.AppendOnly)

	_, err = ReadRedis(filepath.Join(dir, "missing.conf"))
	require.ErrorContains(t, err, "missing.conf: cannot be read: no such file or directory")
}

func TestUnknownAndWeightyDirectives_AreReported(t *testing.T) {
	r, err := ParseRedis("x", strings.Join([]string{
		"maxmemory-shards 4", "replicaof 10.0.0.1 6379", "loadmodule /opt/m.so", "dir /dev/shm/redis",
		"aof-load-truncated no",
		"shutdown-on-sigterm nosave", "tcp-backlog 511", "cluster-enabled no", "replica-read-only yes",
	}, "\n"))
	require.NoError(t, err)
	require.Len(t, r.Unknown, 1)
	require.Equal(t, "x:1", r.Unknown[0].Place.String())
	require.Equal(t, "maxmemory-shards 4", r.Unknown[0].String())
	require.Len(t, r.Remarks, 2, "neither a file that is cut short nor a stop with an append-only file loses a lock")

	r, err = ParseRedis("x", "replicaof 10.0.0.1 6379\nreplicaof no one")
	require.NoError(t, err)
	require.Empty(t, r.Remarks, "the last line counts")
}

func TestDirective_StringThenSplitWords_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z/.:*-]{1,9}|[a-z ]{0,9}`), 1, 5).Draw(t, "words")
		line := Directive{Name: "x", Args: words}.String()
		got, err := SplitWords(line)
		require.NoError(t, err)
		require.Equal(t, append([]string{"x"}, words...), got)
	})
}

func FuzzRedis(f *testing.F) {
	f.Add("save 60 1\nappendonly yes\n")
	f.Add(`requirepass "\x4`)
	f.Add("include [")
	f.Add(strings.Repeat("x y\n", 100_000))
	f.Add("save " + strings.Repeat("1 1 ", 100_000))
	f.Add(strings.Repeat("'", 100_000))
	f.Add("maxmemory 1gb\nsave \"\"\n# x")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // it would read this machine's files
		}
		var r *Redis
		var err error
		inputtest.Bounded(t, len(text), func() { r, err = ParseRedis("x", text) })
		if err != nil {
			require.Nil(t, r)
			return
		}
		again, err := ParseRedis("x", strings.Join(r.Lines(), "\n"))
		require.NoError(t, err)
		require.Equal(t, r.Lines(), again.Lines())
	})
}
