package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

var update = flag.Bool("update", false, "write into the documents what their commands print")

// The documents' blocks of commands. Those marked as local need a redis-server
// and run in real time.
const (
	consoleBlock = "```console\n"
	localBlock   = "```console local\n"
	endOfBlock   = "```"
	elision      = "…" // alone on a line, stands for any lines
)

// TestTheDocumentsShowWhatTheCommandsPrint runs every `$ bin/lockproof` line of
// the README and of docs/, in order and in one folder for each document, and
// compares its output with the text below it. `$ echo $?` shows an exit code;
// the default is 0.
func TestTheDocumentsShowWhatTheCommandsPrint(t *testing.T) {
	needs.Long(t, "it runs every command that the documents show")
	needs.Commands(t, "sh")
	binary := build(t)
	commands := 0
	for _, page := range pages(t) {
		path, err := filepath.Abs(page)
		require.NoError(t, err)
		t.Run(strings.TrimPrefix(page, "../../"), func(t *testing.T) { commands += checkDocument(t, path, binary) })
	}
	require.Greater(t, commands, 15)
}

// checkDocument returns the number of the document's commands.
func checkDocument(t *testing.T, path, binary string) (commands int) {
	rest := read(t, path)
	shown, err := filepath.Abs("testdata/configurations") // documents may show them
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("cmd/lockproof/testdata", 0o755))
	require.NoError(t, os.Symlink(shown, "cmd/lockproof/testdata/configurations"))
	require.NoError(t, os.Mkdir("bin", 0o755))
	require.NoError(t, os.Symlink(binary, "bin/lockproof"))
	var out strings.Builder
	for {
		at := regexp.MustCompile("(?m)^```console.*\n").FindStringIndex(rest)
		if at == nil {
			break
		}
		fence := rest[at[0]:at[1]]
		block, after, closed := strings.Cut(rest[at[1]:], endOfBlock)
		require.True(t, closed, "a block without an end")
		require.Contains(t, []string{consoleBlock, localBlock}, fence)
		out.WriteString(rest[:at[1]])
		rest = endOfBlock + after
		if _, err := exec.LookPath("redis-server"); err != nil && fence == localBlock {
			t.Run("local", func(t *testing.T) { needs.Check(t, needs.Redis, err) })
			out.WriteString(block)
			continue
		}
		said, n := checkBlock(t, block, fence == localBlock)
		commands += n
		out.WriteString(said)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(out.String()+rest), 0o644))
	}
	return commands
}

// checkBlock runs the commands of a block, and returns the correct block. In
// real time a run may be inconclusive, on a busy machine.
func checkBlock(t *testing.T, block string, trueClock bool) (said string, commands int) {
	code := 0
	var b strings.Builder
	for _, part := range strings.SplitAfter("\n"+block, "\n$ ")[1:] {
		part = strings.TrimSuffix(part, "$ ")
		command, want, _ := strings.Cut(part, "\n")
		var got string
		if command == "echo $?" {
			got, code = strconv.Itoa(code)+"\n", 0
		} else {
			require.Zero(t, code, "the command before %q fails: show it with echo $?", command)
			got, code = runAsShown(t, command)
			commands++
		}
		if trueClock && code == reports.ExitInconclusive {
			t.Logf("inconclusive: %s prints\n%s", command, got)
			got, code = want, 0
		}
		if *update && !slices.Contains(strings.Split(want, "\n"), elision) {
			want = got
		}
		require.Regexp(t, pattern(want), steady(got), "%s prints\n%s", command, got)
		b.WriteString("$ " + command + "\n" + want)
	}
	require.Zero(t, code, "the last command fails: show it with echo $?")
	return b.String(), commands
}

// runAsShown runs a command line of a document with its output to a pipe.
func runAsShown(t *testing.T, line string) (out string, code int) {
	require.True(t, strings.HasPrefix(line, "bin/lockproof "), "%q is no command of ours", line)
	cmd := exec.Command("sh", "-c", line)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	said, err := cmd.Output()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		require.NoError(t, err)
	}
	code = cmd.ProcessState.ExitCode()
	require.NotEqual(t, exitUsage, code, "%s: %s", line, &complaints)
	return progressLine.ReplaceAllString(string(said), ""), code
}

// Durations on this machine, and the ruler, which is as wide as its table.
var (
	tookColumn = regexp.MustCompile(`(as expected|differs|limit|inconclusive|skipped) +[\d.]+ (µs|ms|s|min)( [\d.]+ s)?$`)
	tookInAll  = regexp.MustCompile(`(trials?) in [\d.]+ (µs|ms|s|min)( [\d.]+ s)?\.$`)
	// The lines to a pipe while a suite runs, in the order in which trials
	// end, and the blank one after them. A terminal draws over its progress.
	progressLine = regexp.MustCompile(`(?m)^.*: .* \(\d+ trials?, .*\)\n\n?`)
	situations   = regexp.MustCompile(`(: \d+ situations?), [\d.]+ (µs|ms|s|min)( [\d.]+ s)?$`)
	ruler        = regexp.MustCompile(`^─+$`)
)

// steady removes the parts of output that differ between machines.
func steady(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " ")
		line = tookColumn.ReplaceAllString(line, "$1  TIME")
		line = tookInAll.ReplaceAllString(line, "$1 in TIME.")
		line = situations.ReplaceAllString(line, "$1, TIME")
		lines[i] = ruler.ReplaceAllString(line, "─")
	}
	return strings.Join(lines, "\n")
}

// pattern is a regular expression for the text of a document.
func pattern(want string) string {
	quoted := regexp.QuoteMeta(steady(want))
	return `\A` + regexp.MustCompile(`(?m)^`+elision+`\n`).ReplaceAllString(quoted, `(?s:.*\n)?`) + `\z`
}
