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

// stories is where the histories of what was found are told, from the repository's root.
const stories = "reports/published/league/"

var (
	told   = regexp.MustCompile(`, \[story\].*`)
	issue  = regexp.MustCompile(`, \[report\]\([^)]*\)`) // which the site does not have, nor what is absent
	cited  = regexp.MustCompile(`\.\./` + stories + `([\w-]+)\.txt`)
	signed = regexp.MustCompile(`<td( [^>]*)>((?:<a [^>]*>)?)(\(✗\)|✗|✓|\?)`)
	absent = regexp.MustCompile(`(?s) The \[page\]\([^)]*\).*?\.\n| The same for your own lock takes \[.*?\.\n|` +
		`\nNext: .*\n`)
	dated = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
)

// tones are what a sign's colour means: red a bug, yellow what depends or is undecided, green holds.
var tones = map[string]string{"✗": "bad-text", "(✗)": "doubt-text", "?": "doubt-text", "✓": "good-text"}

// row is a finding as the table has it, by the cells of its line.
type row struct{ lock, claim, cause, confirmed, name string }

func rowOf(line string) row {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
	if len(cells) != 5 { // one of the table of all situations
		return row{lock: cells[0], claim: "what breaks it"}
	}
	return row{cells[0], told.ReplaceAllString(cells[1], ""), cells[2], cells[3], strings.Trim(cells[4], "`")}
}

// LocksIn makes the page of the table and one for each finding, with its claim as the title,
// of a repository's documents, by their paths in the site.
func LocksIn(root fs.FS) (map[string][]byte, error) {
	text, err := fs.ReadFile(root, "docs/locks.md")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		for _, m := range cited.FindAllStringSubmatch(line, -1) {
			if file := "locks/" + m[1] + ".html"; all[file] == nil { // the findings' tables come first
				if all[file], err = storyPage(root, m[1], rowOf(line)); err != nil {
					return nil, err
				}
			}
		}
	}
	without := issue.ReplaceAllString(absent.ReplaceAllString(string(text), "\n"), "")
	body, err := render(cited.ReplaceAllString(without, "$1.html"))
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
		cells[i+1] = `<td data-label="` + names[i%len(names)][1] + `">` +
			dated.ReplaceAllString(cells[i+1], `<span class="date">$0</span>`)
	}
	if len(names) > 10 { // of all situations: with narrow columns
		cells[0] = strings.Replace(cells[0], "<table>", `<table class="grid">`, 1)
	}
	return signed.ReplaceAllStringFunc(strings.Join(cells, ""), func(cell string) string {
		m := signed.FindStringSubmatch(cell)
		return "<td" + m[1] + ` class="` + tones[m[3]] + `">` + m[2] + m[3]
	})
}

// storyPage tells of one finding, with its claim as the title: its pictures where its history was kept,
// and what the terminal says.
func storyPage(root fs.FS, name string, r row) ([]byte, error) {
	claim, escaped := strings.ToUpper(r.claim[:1])+r.claim[1:], template.HTMLEscapeString
	text, err := fs.ReadFile(root, stories+name+".txt")
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
	recorded, err := root.Open(stories + name + ".jsonl")
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
