package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	answerBlock = regexp.MustCompile("(?s)```text\n((Test\\w+), .*?)```")
	answerTook  = regexp.MustCompile(`situations, ([\d.]+ (µs|ms|s|min)|TIME)`)
)

// TestTheDocumentsShowTheAnswersOfTheExamples compares the answers to a lock that documents show with those that the
// example's own test expects. "..." stands for any words.
func TestTheDocumentsShowTheAnswersOfTheExamples(t *testing.T) {
	shown := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range answerBlock.FindAllStringSubmatch(string(text), -1) {
			answer, err := os.ReadFile(filepath.Join("../../examples/locktest/answers/testdata", block[2]+".txt"))
			require.NoError(t, err, page)
			require.Regexp(t, words(block[1]), words(string(answer)), page)
			shown++
		}
	}
	require.GreaterOrEqual(t, shown, 2)
}

// words is the text with one blank between words, as a regular expression if it has an elision.
func words(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = answerTook.ReplaceAllString(text, "situations,")
	if !strings.Contains(text, "...") {
		return text
	}
	return `\A` + strings.ReplaceAll(regexp.QuoteMeta(text), `\.\.\.`, `.*?`) + `\z`
}

var (
	expectRow = regexp.MustCompile(`(?m)^\| [^|]*/answers/(\w+_test\.go)\)\) \| (\d+) \| ([^|]*) \| (\d+) \|$`)
	inCode    = regexp.MustCompile("`([a-z-]+)`")
	andMore   = regexp.MustCompile(`and (\d+) more`)
)

// TestTheTableOfWhatToExpect_IsThatOfTheExamples compares docs/expect.md with the same answers.
func TestTheTableOfWhatToExpect_IsThatOfTheExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/expect.md")
	require.NoError(t, err)
	rows := expectRow.FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 5)
	for _, row := range rows {
		code, err := os.ReadFile("../../examples/locktest/answers/" + row[1])
		require.NoError(t, err)
		name := regexp.MustCompile(`func (Test\w+)`).FindStringSubmatch(string(code))[1]
		answer, err := os.ReadFile("../../examples/locktest/answers/testdata/" + name + ".txt")
		require.NoError(t, err)
		count := func(kind, text string) string {
			return regexp.MustCompile(`(?m)^  ` + kind + ` +(\d+)`).FindStringSubmatch(text)[1]
		}
		require.Equal(t, count("holds", string(answer)), row[2], name)
		require.Equal(t, count("limit", string(answer)), row[4], name)
		bugs, _, _ := strings.Cut(string(answer)[strings.Index(string(answer), "\n  bug"):], "\n  limit")
		named := inCode.FindAllStringSubmatch(row[3], -1)
		for _, bug := range named {
			require.Regexp(t, `[\s]`+bug[1]+`[,\s]`, bugs, name)
		}
		more := "0"
		if m := andMore.FindStringSubmatch(row[3]); m != nil {
			more = m[1]
		}
		others, err := strconv.Atoi(more)
		require.NoError(t, err)
		require.Equal(t, count("bug", string(answer)), strconv.Itoa(len(named)+others), name)
	}
}
