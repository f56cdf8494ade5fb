package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/input"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// Each file of a chain includes the next one twice: there are 2^40 to read.
func TestIncludes_ThatDoubleAreRefused(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		write(t, dir, fmt.Sprintf("%d.conf", i), strings.Repeat(fmt.Sprintf("include %d.conf\n", i+1), 2))
	}
	write(t, dir, "40.conf", "appendonly yes\n")
	_, err := ReadRedis(filepath.Join(dir, "0.conf"), nil)
	require.ErrorContains(t, err, "too much is included: more than 200 files, or 16 that include one another")
}

// What is no directive may be a secret of another file.
func TestTheTextOfOtherFilesIsNotTold(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "shadow", "root:$y$j9T$kyWmN8C4$1Zp:19000:0:99999:7:::\n-----BEGIN PRIVATE KEY-----\n"+
		strings.Repeat("Ab9", 30)+"\n")
	_, err := ReadRedis(write(t, dir, "redis.conf", "include shadow\n"), nil)
	for line := 1; line <= 3; line++ {
		require.ErrorContains(t, err, fmt.Sprintf("shadow:%d:1: this line is no directive", line))
	}
	for _, secret := range []string{"j9T", "Ab9", "BEGIN"} {
		require.NotContains(t, err.Error(), secret)
	}
}

// A pattern over folders may stand for every file of the disk.
func TestAPatternIsForFilesOfOneFolder(t *testing.T) {
	_, err := ReadRedis(write(t, t.TempDir(), "redis.conf", "include /*/*/*/*/*/x.conf\n"), nil)
	require.ErrorContains(t, err, "write a pattern in the last part of the path only")
}

// What is included may come to each of the bounds, and no further.
func TestIncludes_ReadUpToTheirBounds(t *testing.T) {
	read := func(files map[string]string) error {
		dir := t.TempDir()
		for name, text := range files {
			write(t, dir, name, text)
		}
		_, err := ReadRedis(filepath.Join(dir, "redis.conf"), nil)
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

func TestProblems_OnlyTheFirstFiftyAreReported(t *testing.T) {
	for wrong, told := range map[int]int{mostProblems: mostProblems, mostProblems + 1: mostProblems} {
		_, err := ParseRedis("x", strings.Repeat("maxmemory x\n", wrong))
		require.Equal(t, told, 1+strings.Count(err.Error(), "\n"))
	}
}

// A zero byte is found on its line, in a text that has nothing else as well.
func TestZeroByte_IsReportedOnItsLine(t *testing.T) {
	for text, at := range map[string]string{"\x00": "x:1:1: ", "a b\n\n\x00\n": "x:3:1: "} {
		_, err := ParseRedis("x", text)
		require.ErrorContains(t, err, at+"there is a zero byte")
	}
}
