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

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

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

// A page begins with its audience, and ends with the next page.
func TestPages_NameAudienceAndNextPage(t *testing.T) {
	for _, path := range pages(t)[1:] {
		paragraphs := strings.Split(strings.TrimSpace(read(t, path)), "\n\n")
		require.Greater(t, len(paragraphs), 2, path)
		assert.Regexp(t, `\b[Ff]or (a|an|any|the|who|people|users|contributors|teachers)`, paragraphs[1],
			"%s: whom it is for", path)
		assert.Regexp(t, `\bNext: .*\]\(`, paragraphs[len(paragraphs)-1], "%s: where to go next", path)
	}
}

func TestPages_LinksResolve(t *testing.T) {
	for _, path := range append(pages(t), "../../CONTRIBUTING.md", "../../ARCHITECTURE.md") {
		for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, path), ""), -1) {
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

// anchors are GitHub's anchors of a page's headings.
func anchors(t *testing.T, path string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, path), ""), -1) {
		all = append(all, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
