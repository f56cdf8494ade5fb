package main

import (
	"os"
	"path/filepath"
	"regexp"
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
