package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input"
	"example.org/lockproof/nemesis"
)

// Sizes are Redis's (memtoull in util.c): k is a thousand, kb 1024.
func TestMaxMemory_HasTheUnitsOfRedis(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "7b": 7, "7k": 7000, "7kb": 7 << 10, "7m": 7e6, "7mb": 7 << 20, "7g": 7e9, "7gb": 7 << 30,
		"7GB": 7 << 30, "7Kb": 7 << 10,
		"4294967296gb": 1 << 62,
	} {
		r, err := ParseRedis("x", "maxmemory "+text)
		require.NoError(t, err, text)
		require.Equal(t, want, r.MaxMemory, text)
	}
	for _, text := range []string{"4294967297gb", "-1", "1.5gb", "gb", "1bk", "1t", "9223372036854775808"} {
		_, err := ParseRedis("x", "maxmemory "+text)
		require.ErrorContains(t, err, "not an amount of memory", text)
	}
}

// A rule needs at least one second, but may have zero changes.
func TestSave_Limits(t *testing.T) {
	r, err := ParseRedis("x", "save 1 0 1000000000 5")
	require.NoError(t, err)
	require.Equal(t, []SavePoint{{time.Second, 0}, {1e9 * time.Second, 5}}, r.Save)
	r, err = ParseRedis("x", "save "+strings.Repeat("1 1 ", 100))
	require.NoError(t, err)
	require.Len(t, r.Save, 100)
	for _, text := range []string{"0 1", "-1 1", "1000000001 1", "1 -1", "1 1 1", `"" 1`} {
		_, err := ParseRedis("x", "save "+text)
		require.Error(t, err, text)
	}
	_, err = ParseRedis("x", "save "+strings.Repeat("1 1 ", 101))
	require.ErrorContains(t, err, "x:1:1: there are more than 100 rules")
}

func TestEvicts_NeedsALimitAndAPolicy(t *testing.T) {
	for text, evicts := range map[string]bool{
		"": false, "maxmemory 0\nmaxmemory-policy allkeys-lru": false, "maxmemory 1\nmaxmemory-policy allkeys-lru": true,
		"maxmemory 1": false, "maxmemory-policy volatile-ttl": false,
	} {
		r, err := ParseRedis("x", text)
		require.NoError(t, err)
		require.Equal(t, evicts, r.Evicts(), text)
		require.Equal(t, strings.Contains(text, "maxmemory 1"), strings.Contains(strings.Join(r.Lines(), "\n"),
			"maxmemory 1"), text)
		require.NotContains(t, r.Lines(), "maxmemory 0")
	}
}

func TestLines_MinReplicasSet_IncludeBothReplicaSettings(t *testing.T) {
	for text, want := range map[string][]string{
		"min-replicas-to-write 0\nmin-replicas-max-lag 3": nil,
		"min-replicas-to-write 1\nmin-replicas-max-lag 0": nil, // as in checkGoodReplicasStatus in server.c
		"min-replicas-to-write 1":                         {"min-replicas-to-write 1", "min-replicas-max-lag 10"},
		"min-slaves-to-write 2\nmin-slaves-max-lag 4":     {"min-replicas-to-write 2", "min-replicas-max-lag 4"},
	} {
		r, err := ParseRedis("x", text)
		require.NoError(t, err)
		var found []string
		for _, line := range r.Lines() {
			if strings.HasPrefix(line, "min-replicas") {
				found = append(found, line)
			}
		}
		require.Equal(t, want, found, text)
		require.NotContains(t, r.Own(), "min-replicas-to-write", "trials of crashes have no replicas")
	}
	none, err := ParseRedis("x", `save ""`)
	require.NoError(t, err)
	require.Equal(t, `""`, none.Own()["save"])
	require.Equal(t, "\"\"\nsave 3600 1 300 100 60 10000", Default().Own()["save"])
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// A line that is not a directive may be a secret of another file.
func TestProblems_InvalidLineOfInclude_IsNotShown(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "shadow", "root:$y$j9T$kyWmN8C4$1Zp:19000:0:99999:7:::\n-----BEGIN PRIVATE KEY-----\n"+
		strings.Repeat("Ab9", 30)+"\n")
	_, err := ReadRedis(write(t, dir, "redis.conf", "include shadow\n"))
	for line := 1; line <= 3; line++ {
		require.ErrorContains(t, err, fmt.Sprintf("shadow:%d:1: this line is no directive", line))
	}
	for _, secret := range []string{"j9T", "Ab9", "BEGIN"} {
		require.NotContains(t, err.Error(), secret)
	}
}

// A pattern over folders could match every file of the disk.
func TestIncludes_PatternOverFolders_Fails(t *testing.T) {
	_, err := ReadRedis(write(t, t.TempDir(), "redis.conf", "include /*/*/*/*/*/x.conf\n"))
	require.ErrorContains(t, err, "write a pattern in the last part of the path only")
}

func TestIncludes_ReadUpToTheirBounds(t *testing.T) {
	read := func(files map[string]string) error {
		dir := t.TempDir()
		for name, text := range files {
			write(t, dir, name, text)
		}
		_, err := ReadRedis(filepath.Join(dir, "redis.conf"))
		return err
	}
	chain := func(deep int) map[string]string {
		files := map[string]string{"redis.conf": "include 2.conf\n", fmt.Sprintf("%d.conf", deep): ""}
		for i := 2; i < deep; i++ {
			files[fmt.Sprintf("%d.conf", i)] = fmt.Sprintf("include %d.conf\n", i+1)
		}
		return files
	}
	const includes = "include x.conf\ninclude y.conf\n"
	half := strings.Repeat("\n", int(input.Config))
	for refusal, files := range map[string]func(more int) map[string]string{
		"too much is included: more than 200 files": func(more int) map[string]string {
			return map[string]string{"redis.conf": strings.Repeat("include x.conf\n", mostFiles-1+more), "x.conf": ""}
		},
		"or 16 that include one another": func(more int) map[string]string { return chain(deepestNested + more) },
		"with what it includes, the file has more than 2097152 bytes": func(more int) map[string]string {
			return map[string]string{"redis.conf": includes, "x.conf": half, "y.conf": half[:len(half)-len(includes)+more]}
		},
		":20001:1: there are more than 20000 directives": func(more int) map[string]string {
			return map[string]string{"redis.conf": strings.Repeat("x y\n", mostDirectives+more)}
		},
	} {
		require.NoError(t, read(files(0)), refusal)
		require.ErrorContains(t, read(files(1)), refusal)
	}
}

// What a line beside the file includes is on the server's machine, and could set anything.
func TestParseLines_Include_StaysAnUnknownLine(t *testing.T) {
	lines, err := ParseLines([]string{"include /etc/redis/site.conf"})
	require.NoError(t, err)
	r := Default()
	require.NoError(t, r.Apply(lines))
	require.Len(t, r.Unknown, 1)
	require.Equal(t, "include", r.Unknown[0].Name)
}

// A file with a template's placeholders is not the one that the server reads.
func TestPlaceholders_AreNotUnderstood(t *testing.T) {
	for line, known := range map[string]bool{"port {{ port }}": false, "port {{port}}": false, "port <%= @port %>": false,
		"port ${PORT}": true, "requirepass {{ secret }}": false, "requirepass a{{b": true, "port 6379": true,
		`proc-title-template "{title} {listen-addr}"`: true} {
		r, err := ParseRedis("redis.conf", line+"\n")
		require.NoError(t, err)
		require.Equal(t, known, len(r.Unknown) == 0, line)
	}
}

func TestProblems_OnlyTheFirstFiftyAreReported(t *testing.T) {
	for wrong, told := range map[int]int{mostProblems: mostProblems, mostProblems + 1: mostProblems} {
		_, err := ParseRedis("x", strings.Repeat("maxmemory x\n", wrong))
		require.Equal(t, told, 1+strings.Count(err.Error(), "\n"))
	}
}

// An operator's quotes and escapes are read as Redis does (sdssplitargs in sds.c).
func TestSplitWords_AsRedisDoes(t *testing.T) {
	for line, want := range map[string][]string{
		`"\x00\x09\x90\x99"`:         {"\x00\x09\x90\x99"},
		`"\xaf\xfa\xAF\xFA\x0a\x0A"`: {"\xaf\xfa\xaf\xfa\n\n"},
		`"\x/0\x:0\x@0\xG0"`:         {"x/0x:0x@0xG0"}, // neighbours of the hex digits in ASCII
		"\"\\x`0\\xg0\"":             {"x`0xg0"},
		`"\x0/\x0:\x0@\x0G\x4"`:      {"x0/x0:x0@x0Gx4"},
		`"\n\r\t\b\a\q\\\""`:         {"\n\r\t\b\aq\\\""},
		`'\n\' "' x`:                 {`\n' "`, "x"},
		`"it's" ''`:                  {"it's", ""},
		"a\tb\nc\vd\fe\rf g":         {"a", "b", "c", "d", "e", "f", "g"},
		"a\bb\x0ec":                  {"a\bb\x0ec"},
		"  a  ":                      {"a"},
		"   ":                        nil,
		`pre"fix"`:                   {"prefix"},
		`a "\x41\n\"" 'it\'s'`:       {"a", "A\n\"", "it's"},
	} {
		got, err := SplitWords(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{`"`, `"a`, `"a\"`, `"a\`, `"\x41`, `'`, `'a\'`, `"a"b`, `'a'b`, `a "b"c`} {
		_, err := SplitWords(line)
		require.ErrorIs(t, err, errQuotes, line)
	}
}

func TestDirective_String_QuotesWords(t *testing.T) {
	for want, args := range map[string][]string{
		`x`: nil, `x a`: {"a"}, `x ""`: {""}, `x "a b" c`: {"a b", "c"}, "x \"a\tb\"": {"a\tb"},
	} {
		require.Equal(t, want, Directive{Name: "x", Args: args}.String())
	}
}

// Another server may listen on the default port.
func TestClient_FlagsReachThisServer(t *testing.T) {
	for lines, want := range map[string]string{
		"":                                     "redis-cli",
		"bind * -::*":                          "redis-cli",
		"requirepass \"\"":                     "redis-cli",
		"requirepass secret\nport 7000":        "redis-cli --askpass -p 7000",
		"bind 10.0.0.5 127.0.0.1\nport 6380":   "redis-cli -p 6380",
		"bind 10.0.0.5":                        "redis-cli -h 10.0.0.5",
		"port 0\nunixsocket /run/redis/r.sock": "redis-cli -s /run/redis/r.sock",
		"port 0\ntls-port 6390":                "redis-cli --tls -p 6390",
		"port 6379\nport 7000\ntls-port 7001":  "redis-cli -p 7000",
	} {
		r, err := ParseRedis("redis.conf", lines)
		require.NoError(t, err)
		require.Equal(t, want, r.Client(), lines)
	}
}

func TestCrashes_AreAllNodeDownFaults(t *testing.T) {
	var down []string
	for _, d := range nemesis.Declarations() {
		if d.Node != nil && d.Node.Class == history.NodeDown {
			down = append(down, d.Kind)
		}
	}
	require.ElementsMatch(t, down, Names(Crashes))
}
