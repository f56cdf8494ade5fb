package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

//go:embed *.css page.js *.gohtml
var files embed.FS

var page = template.Must(template.New("page.gohtml").Funcs(template.FuncMap{
	"sign": func(verdict string) string { return reports.VerdictSigns[verdict] },
	"half": func(x float64) float64 { return x / 2 },
	"add":  func(a, b float64) float64 { return a + b },

	"sentence": sentence,
	"cause":    func(text string) string { return sentence(strings.TrimPrefix(text, "cause: ")) },
	"trial":    func(t reports.Trial) string { return reports.TrialText(t.Result) },
}).ParseFS(files, "page.gohtml", "article.gohtml", "parts.gohtml", "picture.gohtml", "timeline.gohtml"))

// Parts are the page's templates, for other pages that show an Account: such a page needs Style, Script, and "defs" in
// its body.
func Parts() *template.Template { return template.Must(page.Clone()) }

func Style() []byte {
	return slices.Concat(asset("colours.css"), asset("timeline.css"), asset("page.css"))
}

func Script() []byte { return asset("page.js") }

func asset(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return data
}

type view struct {
	Style  template.CSS
	Script template.JS
	Policy string
	*reports.Report
	Started  string
	Groups   []*group
	Findings []*article // rows that are neither as expected nor a limit
	Folded   bool       // there are other rows
	Plain    bool       // a row is of an unchanged scenario
	Changed  bool       // a row is of a changed scenario
	Terms    []checker.Property
	Drawn    bool // there is a timeline, which needs a legend
}

// Meaning explains a property; "" if it is unknown.
func Meaning(property string) string {
	p, _ := checker.Find(property)
	return p.Meaning
}

// Write writes the page of a report. The catalogue provides titles and lessons. Histories are read from the report's
// output folder; timelines are written beside them.
func Write(w io.Writer, r *reports.Report, catalogue []*scenarios.Scenario) error {
	b := builder{report: r, scenarios: map[string]*scenarios.Scenario{}, ids: map[string]int{}}
	for _, s := range catalogue {
		b.scenarios[s.Name] = s
	}
	return page.Execute(w, b.view())
}

func (b *builder) view() *view {
	style, script := Style(), Script()
	digest := sha256.Sum256(script)
	r := b.report
	v := &view{
		Style: template.CSS(style), Script: template.JS(script),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file:; script-src 'sha256-" +
			base64.StdEncoding.EncodeToString(digest[:]) + "'; base-uri 'none'; form-action 'none'",
		Report: r, Terms: checker.Properties(),
	}
	if !r.Started.IsZero() {
		v.Started = r.Started.UTC().Format("2 January 2006, 15:04 UTC")
	}
	b.groups(v)
	return v
}

// groups adds the scenarios by their most severe row; within a scenario rows keep the run's order.
func (b *builder) groups(v *view) {
	known := map[string]*group{}
	for _, row := range b.report.BySeverity() {
		if known[row.Scenario] == nil {
			known[row.Scenario] = b.group(row)
			v.Groups = append(v.Groups, known[row.Scenario])
		}
	}
	for _, row := range b.report.Rows {
		g := known[row.Scenario]
		if row.Standing == suite.Skipped || g == nil {
			continue
		}
		article := b.article(row, g)
		g.Articles = append(g.Articles, article)
		v.Drawn = v.Drawn || len(article.Accounts) > 0
		v.Plain = v.Plain || row.Setting() == ""
		v.Changed = v.Changed || row.Setting() != ""
	}
	for _, g := range v.Groups {
		g.Alone = len(b.report.Rows) == 1
		for _, a := range g.Articles {
			if a.IsFinding() {
				v.Findings = append(v.Findings, a)
			} else {
				g.Folded = append(g.Folded, a)
			}
		}
		v.Folded = v.Folded || len(g.Folded) > 0
	}
}

// unique numbers repeated ids.
func (b *builder) unique(id string) string {
	b.ids[id]++
	if n := b.ids[id]; n > 1 {
		return fmt.Sprintf("%s-%d", id, n)
	}
	return id
}
