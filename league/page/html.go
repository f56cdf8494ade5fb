package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"slices"

	"example.com/league"
)

//go:embed page.gohtml
var pageText string

// view is the content of the page.
type view struct {
	Columns  []column
	Locks    []row
	Unjudged []*entry
}

type row struct {
	*entry
	Cells []cell
	Worst []*cross
	Costs []string
}

// html writes the page: the table, with the worst crosses above it.
func (t *table) html(path string) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	v := view{Columns: columns}
	for _, e := range t.entries {
		if !e.ran {
			v.Unjudged = append(v.Unjudged, e)
			continue
		}
		r := row{entry: e}
		for _, c := range columns {
			r.Cells = append(r.Cells, e.cell(c))
		}
		if !e.reference() {
			r.Worst = e.worst()
		}
		if e.Cost != nil {
			r.Costs = figures(e.Cost, e.Lock)
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

// Evidence and the methods below are for the page's template.
func (c *cross) Evidence() string { return c.evidence() }
func (c *cross) Count() string    { return c.count() }
func (e *entry) Title() string    { return e.title() }
func (e *entry) Reference() bool  { return e.reference() }

// Class is the cell's class in the page's style.
func (c cell) Class() string {
	return map[string]string{wrong: "wrong", depends: "depends", right: "right"}[c.Mark]
}

// Depending are the crosses that depend on how the lock is used.
func (e *entry) Depending() []*cross {
	return slices.DeleteFunc(slices.Clone(e.Crosses), (*cross).counts)
}

// figures are a lock's costs in the format of the tables.
func figures(c *league.Cost, l league.Lock) []string {
	pairs, of, left, hung := fmt.Sprintf("%.0f", c.Pairs), fmt.Sprintf("%.2f", c.OfBare), fmt.Sprint(c.Orphans),
		cmp.Or(c.Hung, nothing)
	if l.Unreleased { // it is only ever acquired
		pairs, of, left = pairs+" taken", nothing, nothing
	}
	return []string{pairs, of, fmt.Sprintf("%.1f", c.Commands), left, hung}
}
