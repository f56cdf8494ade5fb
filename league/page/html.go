package main

import (
	_ "embed"
	"html/template"
	"os"
)

//go:embed page.gohtml
var pageText string

// view is what the page shows.
type view struct {
	Columns []column
	Locks   []row
}

type row struct {
	*entry
	Cells []cell
	Worst []*cross
}

// html writes the page: the table, and who is in trouble above it.
func (t *table) html(path string) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	v := view{Columns: columns}
	for _, e := range t.entries {
		if !e.ran {
			continue
		}
		r := row{entry: e}
		for _, c := range columns {
			r.Cells = append(r.Cells, e.cell(c))
		}
		for _, c := range e.Crosses {
			if c.counts() && !minor(c) && !e.reference() {
				r.Worst = append(r.Worst, c)
			}
		}
		v.Locks = append(v.Locks, r)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return page.Execute(f, v)
}

// Evidence is for the page.
func (c *cross) Evidence() string { return c.evidence() }

// Class is the cell's in the page's style.
func (c cell) Class() string {
	return map[string]string{wrong: "wrong", depends: "depends", right: "right"}[c.Mark]
}
