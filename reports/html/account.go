package html

import (
	"strings"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// Account tells of one violation, or of a history without one: what the
// template "account" shows.
type Account struct {
	ID       string
	Property string
	What     string   // "" where nothing was violated
	Facts    []string // what the history shows of the violation
	Cause    string   // what experiments have shown; "": nothing, or none were made
	More     int
	Settings []string
	Picture  *timeline
	Omitted  int
}

// Accounts tell what the history of one trial shows: an account of the first
// violation of each property, or one of the whole history where none is
// violated. Their ids begin with id. There is none of a history in which nobody
// ever had the lock or a key.
func Accounts(id string, trial suite.Result, h *reports.History) (all []*Account) {
	found := reports.Findings(trial, h)
	for _, f := range found {
		all = append(all, account(id+"-"+suite.Slug(f.Property), f, h))
	}
	if len(found) == 0 && h.Held() {
		story := h.Tell(nil)
		all = append(all, account(id, reports.Finding{Story: &story}, h))
	}
	return all
}

func account(id string, f reports.Finding, h *reports.History) *Account {
	v, story := f.Violation, f.Story
	a := &Account{ID: id, Property: f.Property, More: f.More, Settings: story.Settings, Omitted: story.Omitted}
	if v != nil {
		a.What = sentenceCase(strings.TrimSuffix(v.What, "."))
		if plain := story.Headline(v); plain != "" {
			a.What, a.Facts = plain, []string{a.What + "."}
		}
		for _, f := range v.Facts {
			a.Facts = append(a.Facts, sentenceCase(f.What)+".")
		}
	}
	if f.Cause != nil {
		a.Cause = strings.TrimPrefix(f.Cause.Sentence(), "cause: ") + "."
	}
	a.Picture = draw(id, story, v, f.Property, h.Events[len(h.Events)-1].Time)
	return a
}
