package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	meanWords = 18 // of a page's sentences
	longWords = 35
	longShare = 0.02 // of a page's sentences, and one more, may be longer
)

var (
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```")
	notProse   = regexp.MustCompile(`(?m)^(#|\||!\[|    |\t).*$`)
	listItem   = regexp.MustCompile(`(?m)^ *([-*]|\d+\.) `)
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	sentences  = regexp.MustCompile(`[.?!]["')*]*\s+|\n\s*\n`) // a colon or semicolon ends none
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// prose gives the sentences of a page: no code, tables, headings or list of names.
func prose(page string) (all [][]string) {
	text := codeBlock.ReplaceAllString(page, "\n\n")
	text = notProse.ReplaceAllString(text, "\n")
	text = listItem.ReplaceAllString(text, "\n\n")
	text = linkTarget.ReplaceAllString(text, "]")
	for _, s := range sentences.Split(text, -1) {
		words := strings.Fields(s)
		if len(words) < 3 || strings.Count(s, ",") > len(words)/4 { // a list of names
			continue
		}
		all = append(all, words)
	}
	return all
}

// pages are the paths of the README and of all documents.
func pages(t *testing.T) []string {
	all := []string{"../../README.md"}
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	}))
	return all
}

func TestPagesAreEasyToRead(t *testing.T) {
	for _, path := range pages(t) {
		t.Run(strings.TrimPrefix(path, "../../"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var long []string
			words, all := 0, prose(string(data))
			for _, s := range all {
				words += len(s)
				if len(s) > longWords {
					long = append(long, strings.Join(s, " "))
				}
			}
			list := strings.Join(long, "\n- ")
			assert.Less(t, words, meanWords*max(len(all), 1), "mean words a sentence; the long ones:\n- %s", list)
			assert.LessOrEqual(t, float64(len(long)), 1+longShare*float64(len(all)), "sentences over %d words:\n- %s", longWords, list)
		})
	}
}

// A page begins with whom it is for, and ends with where to go next.
func TestPagesSayWhomTheyAreForAndWhatIsNext(t *testing.T) {
	for _, path := range pages(t)[1:] {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		paragraphs := strings.Split(strings.TrimSpace(string(data)), "\n\n")
		require.Greater(t, len(paragraphs), 2, path)
		assert.Regexp(t, `\b[Ff]or (a|an|any|the|who|people|users|contributors|teachers)`, paragraphs[1], "%s: whom it is for", path)
		assert.Regexp(t, `\bNext: .*\]\(`, paragraphs[len(paragraphs)-1], "%s: where to go next", path)
	}
}

func TestLinksLead(t *testing.T) {
	for _, path := range append(pages(t), "../../CONTRIBUTING.md", "../../ARCHITECTURE.md") {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(data), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), filepath.FromSlash(target))
			}
			_, err := os.Stat(to)
			if assert.NoError(t, err, "%s links to %s", path, m[1]) && anchor != "" {
				assert.Contains(t, anchors(t, to), anchor, "%s links to %s", path, m[1])
			}
		}
	}
}

// anchors are those that GitHub gives to a page's headings.
func anchors(t *testing.T, path string) (all []string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(data), ""), -1) {
		all = append(all, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

func TestProse_SkipsCodeTablesAndLinks(t *testing.T) {
	page := "# A title\n\nOne short sentence [here](a/b.md). Another one follows it.\n\n```\ncode is no prose\n```\n\n| a | b |\n"
	require.Equal(t, [][]string{{"One", "short", "sentence", "[here]"}, {"Another", "one", "follows", "it"}}, prose(page))
}
