package front

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/site"
)

//go:embed front.gohtml front.css front.js card.png
var parts embed.FS

// Files makes the first page and the files that only it loads, by their paths in the site.
func Files(ctx context.Context, run suite.Runner) (map[string][]byte, error) {
	tabs, err := Tabs(ctx, run)
	if err != nil {
		return nil, err
	}
	plays, err := json.Marshal(tabs)
	if err != nil {
		return nil, err
	}
	page := page(tabs)
	if page.Status != http.StatusOK {
		return nil, errors.New(string(page.Body))
	}
	all := map[string][]byte{"index.html": page.Body,
		"assets/plays.js": fmt.Appendf(nil, "self.lockproofPlays = %s;\n", plays)}
	for name, data := range site.Embedded(parts) {
		all["assets/"+name] = data
	}
	return all, nil
}

// view is the page before its script runs.
type view struct {
	Tabs    []Tab // each with its first play
	Caption string
	Clients []actor
	Nodes   []actor
}

type actor struct {
	Name string
	X, Y int
}

var pages = template.Must(site.Templates().ParseFS(parts, "front.gohtml"))

func page(tabs []Tab) site.Page {
	first := make([]Tab, len(tabs))
	for i, t := range tabs {
		first[i] = t
		first[i].Plays = []Play{t.Plays[t.Start]}
	}
	v := view{Tabs: first, Caption: first[0].Plays[0].Beats[0].Text,
		Clients: []actor{{"c1", 84, 66}, {"c2", 84, 190}}}
	for i, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
		v.Nodes = append(v.Nodes, actor{name, 350, 38 + 45*i})
	}
	return site.Show(pages, http.StatusOK, "front", site.Frame{
		Title: "Will c2’s payment survive?", Here: "start", Style: "front.css", Script: "front.js", Page: v,
		Description: "Two clients, five servers, one lock: watch it fail, and find out when it does.",
	})
}
