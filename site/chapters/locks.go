package chapters

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"strings"

	"lockproof/site"
)

// stories is where the histories of what was found are told, from the repository's root.
const stories = "reports/published/league/"

// Locks are the pages of the locks that people use.
type Locks struct {
	Pages map[string][]byte // by their paths in the site
	Worst string            // the first finding, in one sentence
}

var (
	finding = regexp.MustCompile(`(?m)^\| (.+?) \| (.+?), \[story\]\(\.\./` + stories + `([\w-]+)\.txt\)`)
	release = regexp.MustCompile(` v[\d.]+\S*$`)
	cited   = regexp.MustCompile(`\.\./` + stories + `([\w-]+)\.txt`)
	page    = regexp.MustCompile(`(?s) The \[page\]\([^)]*\).*?\.\n`)
)

// LocksIn makes the page of the table and one for each finding, with its claim as the title,
// of a repository's documents.
func LocksIn(root fs.FS) (Locks, error) {
	text, err := fs.ReadFile(root, "docs/locks.md")
	if err != nil {
		return Locks{}, err
	}
	all := Locks{Pages: map[string][]byte{}}
	claims := map[string]string{}
	for i, m := range finding.FindAllStringSubmatch(string(text), -1) {
		if i == 0 {
			all.Worst = release.ReplaceAllString(m[1], "") + ": " + m[2]
		}
		claims[m[3]] = m[2]
	}
	for line := range strings.Lines(string(text)) {
		for _, m := range cited.FindAllStringSubmatch(line, -1) {
			lock, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			claim := cmp.Or(claims[m[1]], "what breaks it")
			if all.Pages["locks/"+m[1]+".html"], err = storyPage(root, m[1], lock, claim); err != nil {
				return Locks{}, err
			}
		}
	}
	body, err := render(cited.ReplaceAllString(page.ReplaceAllString(string(text), "\n"), "$1.html"))
	f := site.Frame{Title: "The locks that people use", Here: "locks", Root: "../", Wide: true,
		Description: "Redsync, redis-py, Symfony and others, put through every failure of the catalogue: what broke, and how to repeat it."}
	body = template.HTML(tables.ReplaceAllStringFunc(string(body), labelled))
	all.Pages["locks/index.html"] = site.ShowText(f, body).Body
	return all, err
}

var (
	tables  = regexp.MustCompile(`(?s)<table>.*?</table>`)
	headers = regexp.MustCompile(`(?s)<th[^>]*>(.*?)</th>`)
)

// labelled gives each cell of a table its column's name, which it shows where there is no room for columns.
func labelled(table string) string {
	names := headers.FindAllStringSubmatch(table, -1)
	cells := strings.Split(table, "<td>")
	for i := range cells[1:] { // each row has a cell for each column
		cells[i+1] = `<td data-label="` + names[i%len(names)][1] + `">` + cells[i+1]
	}
	return strings.Join(cells, "")
}

// storyPage tells of one finding, with its claim as the title.
func storyPage(root fs.FS, name, lock, claim string) ([]byte, error) {
	told, err := fs.ReadFile(root, stories+name+".txt")
	if err != nil {
		return nil, err
	}
	body := fmt.Sprintf(`<p class="crumb"><a href="index.html">The locks that people use</a></p><h1>%s</h1><p class="summary">%s</p>`+
		`<pre tabindex="0" role="region" aria-label="The history, told">%s</pre>`,
		template.HTMLEscapeString(claim), template.HTMLEscapeString(lock), template.HTMLEscapeString(string(told)))
	f := site.Frame{Title: lock + ": " + claim, Description: claim, Here: "locks", Root: "../"}
	return site.ShowText(f, template.HTML(body)).Body, nil
}
