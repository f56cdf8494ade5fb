package chapters

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"strings"

	"example.org/lockproof/site"
)

// stories is where the histories of what was found are told, from the repository's root.
const stories = "reports/published/league/"

var (
	finding = regexp.MustCompile(`(?m)^\| (.+?) \| (.+?), \[story\]\(\.\./` + stories + `([\w-]+)\.txt\)`)
	cited   = regexp.MustCompile(`\.\./` + stories + `([\w-]+)\.txt`)
	page    = regexp.MustCompile(`(?s) The \[page\]\([^)]*\).*?\.\n`)
)

// LocksIn makes the page of the table and one for each finding, with its claim as the title,
// of a repository's documents, by their paths in the site.
func LocksIn(root fs.FS) (map[string][]byte, error) {
	text, err := fs.ReadFile(root, "docs/locks.md")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	claims := map[string]string{}
	for _, m := range finding.FindAllStringSubmatch(string(text), -1) {
		claims[m[3]] = m[2]
	}
	for line := range strings.Lines(string(text)) {
		for _, m := range cited.FindAllStringSubmatch(line, -1) {
			lock, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			claim := cmp.Or(claims[m[1]], "what breaks it")
			if all["locks/"+m[1]+".html"], err = storyPage(root, m[1], lock, claim); err != nil {
				return nil, err
			}
		}
	}
	body, err := render(cited.ReplaceAllString(page.ReplaceAllString(string(text), "\n"), "$1.html"))
	f := site.Frame{Title: "The locks that people use", Here: "locks", Root: "../", Wide: true,
		Description: "Redsync, redis-py, Symfony and others, put through every failure of the catalogue: what broke, and " +
			"how to repeat it."}
	body = template.HTML(tables.ReplaceAllStringFunc(string(body), labelled))
	all["locks/index.html"] = site.ShowText(f, body).Body
	return all, err
}

var (
	tables  = regexp.MustCompile(`(?s)<table>.*?</table>`)
	headers = regexp.MustCompile(`(?s)<th(?: [^>]*)?>(.*?)</th>`) // and not thead
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

// storyPage tells of one finding, with its claim as the title: its pictures where its history was kept,
// and what the terminal says.
func storyPage(root fs.FS, name, lock, claim string) ([]byte, error) {
	claim = strings.ToUpper(claim[:1]) + claim[1:]
	told, err := fs.ReadFile(root, stories+name+".txt")
	if err != nil {
		return nil, err
	}
	body := fmt.Sprintf(`<p class="crumb"><a href="index.html">The locks that people use</a></p><h1>%s</h1><p class="summary">%s</p>`,
		template.HTMLEscapeString(claim), template.HTMLEscapeString(lock))
	text := fmt.Sprintf(`<pre tabindex="0" role="region" aria-label="The history, told">%s</pre>`,
		template.HTMLEscapeString(string(told)))
	recorded, err := root.Open(stories + name + ".jsonl")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		body += text
	case err != nil:
		return nil, err
	default:
		defer recorded.Close()
		pictures, err := site.Evidence(recorded, "finding")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		body += pictures + "<details><summary>As the terminal tells it</summary>" + text + "</details>"
	}
	f := site.Frame{Title: lock + ": " + claim, Description: claim, Here: "locks", Root: "../", Wide: true}
	return site.ShowText(f, template.HTML(body)).Body, nil
}
