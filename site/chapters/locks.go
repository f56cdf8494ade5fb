package chapters

import (
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"strings"

	"example.org/lockproof/site"
)

// storiesDir contains the stories and histories of the findings, relative to the repository's root.
const storiesDir = "reports/published/league/"

var (
	storyLink   = regexp.MustCompile(`, \[story\].*`)
	reportLink  = regexp.MustCompile(`, \[report\]\([^)]*\)`) // not on the site
	storyFile   = regexp.MustCompile(`\.\./` + storiesDir + `([\w-]+)\.txt`)
	verdictCell = regexp.MustCompile(`<td( [^>]*)>((?:<a [^>]*>)?)(\(✗\)|✗|✓|\?)`)
	unavailable = regexp.MustCompile(`(?s) The \[page\]\([^)]*\).*?\.\n| The same for your own lock takes \[.*?\.\n|` +
		`\nNext: .*\n`)
	date = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
)

// tones are the classes of signs: red is a bug, yellow depends on the use or is undecided, green holds.
var tones = map[string]string{"✗": "bad-text", "(✗)": "doubt-text", "?": "doubt-text", "✓": "good-text"}

// row is the cells of a finding's line in the table.
type row struct{ lock, claim, cause, confirmed, name string }

func rowOf(line string) row {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
	if len(cells) != 5 { // a line of the table of all situations
		return row{lock: cells[0], claim: "what breaks it"}
	}
	return row{cells[0], storyLink.ReplaceAllString(cells[1], ""), cells[2], cells[3], strings.Trim(cells[4], "`")}
}

// LocksIn makes the page of the table and a page for each finding, titled with its claim, from a repository's
// documents. Keys are paths in the site.
func LocksIn(root fs.FS) (map[string][]byte, error) {
	text, err := fs.ReadFile(root, "docs/locks.md")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		for _, m := range storyFile.FindAllStringSubmatch(line, -1) {
			if file := "locks/" + m[1] + ".html"; all[file] == nil { // the tables of findings come first
				if all[file], err = storyPage(root, m[1], rowOf(line)); err != nil {
					return nil, err
				}
			}
		}
	}
	without := reportLink.ReplaceAllString(unavailable.ReplaceAllString(string(text), "\n"), "")
	body, err := render(storyFile.ReplaceAllString(without, "$1.html"))
	f := site.Frame{Title: "The locks that people use", Here: "locks", Root: "../", Wide: true,
		Description: "Redsync, redis-py, Symfony and others, put through every failure of the catalogue: what broke, and " +
			"how to repeat it."}
	body = template.HTML(tables.ReplaceAllStringFunc(string(body), labelCells))
	all["locks/index.html"] = site.ShowText(f, body).Body
	return all, err
}

var (
	tables  = regexp.MustCompile(`(?s)<table>.*?</table>`)
	headers = regexp.MustCompile(`(?s)<th(?: [^>]*)?>(.*?)</th>`) // but not thead
)

// labelCells adds the column's name to each cell; a narrow page shows it.
func labelCells(table string) string {
	names := headers.FindAllStringSubmatch(table, -1)
	cells := strings.Split(table, "<td>")
	for i := range cells[1:] { // each row has as many cells as columns
		cells[i+1] = `<td data-label="` + names[i%len(names)][1] + `">` +
			date.ReplaceAllString(cells[i+1], `<span class="date">$0</span>`)
	}
	class := "stacked"
	if len(names) > 10 { // the table of all situations has narrow columns
		class += " grid"
	}
	cells[0] = strings.Replace(cells[0], "<table>", `<table class="`+class+`">`, 1)
	return verdictCell.ReplaceAllStringFunc(strings.Join(cells, ""), func(cell string) string {
		m := verdictCell.FindStringSubmatch(cell)
		return "<td" + m[1] + ` class="` + tones[m[3]] + `">` + m[2] + m[3]
	})
}

// storyPage shows one finding: its pictures if its history was kept, and the terminal's text.
func storyPage(root fs.FS, name string, r row) ([]byte, error) {
	claim, escaped := strings.ToUpper(r.claim[:1])+r.claim[1:], template.HTMLEscapeString
	text, err := fs.ReadFile(root, storiesDir+name+".txt")
	if err != nil {
		return nil, err
	}
	body := fmt.Sprintf(`<p class="crumb"><a href="index.html">The locks that people use</a></p>`+
		`<h1>%s</h1><p class="summary">%s</p>`,
		escaped(claim), escaped(r.lock))
	if r.name != "" {
		body += fmt.Sprintf(`<p class="quiet">Cause in its code: %s. On real Redis: %s.</p>`+
			`<p class="facts repeat">To reproduce it: <code>go -C league test . -run 'TestConfirmed/%s$'</code></p>`,
			escaped(r.cause), escaped(r.confirmed), escaped(r.name))
	}
	terminal := fmt.Sprintf(`<pre tabindex="0" role="region" aria-label="The history, told">%s</pre>`,
		escaped(string(text)))
	recorded, err := root.Open(storiesDir + name + ".jsonl")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		body += terminal
	case err != nil:
		return nil, err
	default:
		defer recorded.Close()
		pictures, err := site.Evidence(recorded, "finding")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		body += pictures + "<details><summary>As the terminal tells it</summary>" + terminal + "</details>"
	}
	f := site.Frame{Title: r.lock + ": " + claim, Description: claim, Here: "locks", Root: "../", Wide: true}
	return site.ShowText(f, template.HTML(body)).Body, nil
}
