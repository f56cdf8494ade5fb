package front

import (
	"embed"
	"encoding/json"
	"html/template"
	"net/http"

	"example.org/lockproof/site"
)

//go:embed front.gohtml front.css front.js
var parts embed.FS

// Assets are the files that the page loads, beside those of every page.
func Assets() map[string][]byte { return site.Embedded(parts) }

// view is what the page shows before its script runs.
type view struct {
	Tabs    []Tab
	First   template.JS // the play of each tab that is shown first
	Caption string
	Clients []actor
	Nodes   []actor
}

// actor is a client or a server in the picture.
type actor struct {
	Name string
	X, Y int
}

var pages = template.Must(site.Templates().ParseFS(parts, "front.gohtml"))

// Page makes the first page.
func Page(tabs []Tab) (site.Page, error) {
	first := make([]Tab, len(tabs))
	for i, t := range tabs {
		first[i] = t
		first[i].Plays = []Play{t.Plays[t.Start]}
	}
	text, err := json.Marshal(first) // it escapes < and >
	if err != nil {
		return site.Page{}, err
	}
	v := view{Tabs: first, First: template.JS(text), Caption: first[0].Plays[0].Beats[0].Text,
		Clients: []actor{{"c1", 84, 66}, {"c2", 84, 190}}}
	for i, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
		v.Nodes = append(v.Nodes, actor{name, 350, 38 + 45*i})
	}
	return site.Show(pages, http.StatusOK, "front", site.Frame{
		Title: "Will c2’s payment survive?", Here: "start", Style: "front.css", Script: "front.js", Page: v,
		Description: "Two clients, five servers, one lock: watch it fail, and find out when it does.",
	}), nil
}
