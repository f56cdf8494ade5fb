package main

import (
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
		for _, block := range answerBlock.FindAllStringSubmatch(read(t, page), -1) {
			answer := read(t, filepath.Join("../../examples/locktest/answers/testdata", block[2]+".txt"))
			require.Regexp(t, words(block[1]), words(answer), page)
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
	rows := expectRow.FindAllStringSubmatch(read(t, "../../docs/expect.md"), -1)
	require.Len(t, rows, 5)
	for _, row := range rows {
		code := read(t, "../../examples/locktest/answers/"+row[1])
		name := regexp.MustCompile(`func (Test\w+)`).FindStringSubmatch(code)[1]
		answer := read(t, "../../examples/locktest/answers/testdata/"+name+".txt")
		count := func(kind, text string) string {
			return regexp.MustCompile(`(?m)^  ` + kind + ` +(\d+)`).FindStringSubmatch(text)[1]
		}
		require.Equal(t, count("holds", answer), row[2], name)
		require.Equal(t, count("limit", answer), row[4], name)
		bugs, _, _ := strings.Cut(answer[strings.Index(answer, "\n  bug"):], "\n  limit")
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
		require.Equal(t, count("bug", answer), strconv.Itoa(len(named)+others), name)
	}
}
