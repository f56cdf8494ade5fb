package chapters

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/docs/guide"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/site"
)

// Chapters show a picture in place of each terminal drawing.
func TestPage_Chapters_HavePicturesForDrawings(t *testing.T) {
	s := site.New(suite.Run, false)
	pictures := 0
	for _, c := range guide.All() {
		page, found := Page(context.Background(), s, c.Name)
		require.True(t, found)
		require.Equal(t, 200, page.Status, "%s: %s", c.Name, page.Body)
		pictures += strings.Count(string(page.Body), `<figure class="timeline"`)
		require.NotContains(t, string(page.Body), "owner on a node", c.Name)
	}
	require.GreaterOrEqual(t, pictures, 5)
}

// On a telephone each cell stands below its lock's name and names its column.
func TestLocksIn_Cells_NameTheirColumns(t *testing.T) {
	all, err := LocksIn(os.DirFS("../.."))
	require.NoError(t, err)
	page := string(all["locks/index.html"])
	require.Contains(t, page, `<td data-label="lock">go-redsync/redsync`)
	require.Contains(t, page, `<td data-label="a client dies" class="good-text">✓`)
	require.NotContains(t, page, "<td>")
	for _, gone := range []string{"Next: reports", "five lines"} { // the site lacks their targets
		require.NotContains(t, page, gone)
	}
	require.Regexp(t, `class="bad-text"><a href="[\w-]+\.html">✗</a>`, page, "red is a bug")
	require.Regexp(t, `class="doubt-text"><a href="[\w-]+\.html">\(✗\)</a>`, page, "yellow depends on how it is used")
}

// Each cross of the table leads to a page with a picture, except two findings without a kept history.
func TestLocksIn_EachCross_LeadsToAPicture(t *testing.T) {
	all, err := LocksIn(os.DirFS("../.."))
	require.NoError(t, err)
	links := regexp.MustCompile(`<a href="([\w-]+\.html)">(\(?✗\)?|story)</a>`).FindAllStringSubmatch(
		string(all["locks/index.html"]), -1)
	require.Greater(t, len(links), 80)
	var without []string
	for _, link := range links {
		page := string(all["locks/"+link[1]])
		require.NotEmpty(t, page, link[1])
		if link[2] == "story" {
			require.Contains(t, page, `To reproduce it: <code>go -C league test`, link[1])
		}
		if !strings.Contains(page, `<figure class="timeline"`) && !slices.Contains(without, link[1]) {
			without = append(without, link[1])
		}
	}
	require.ElementsMatch(t, []string{"kvtools-given-back.html", "kvtools-told-too-late.html"}, without)
}
