package html

import (
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
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
func Accounts(id string, trial suite.Result, h *reports.History) []*Account {
	var all []*Account
	for _, r := range trial.Results {
		if r.Verdict == history.Violated && len(r.Violations) > 0 {
			a := account(id+"-"+suite.Slug(r.Property), h, &r.Violations[0], r.Property)
			a.More = reports.ViolationCount(r) - 1
			all = append(all, a)
		}
	}
	if len(all) == 0 && h.Held() {
		all = append(all, account(id, h, nil, ""))
	}
	return all
}

func account(id string, h *reports.History, v *checker.Violation, property string) *Account {
	story := h.Tell(v)
	a := &Account{ID: id, Property: property, Settings: story.Settings, Omitted: story.Omitted}
	if v != nil {
		a.What = sentenceCase(strings.TrimSuffix(v.What, "."))
		if plain := story.Headline(v); plain != "" {
			a.What, a.Facts = plain, []string{a.What + "."}
		}
		for _, f := range v.Facts {
			a.Facts = append(a.Facts, sentenceCase(f.What)+".")
		}
	}
	a.Picture = draw(id, &story, v, property, h.Events[len(h.Events)-1].Time)
	return a
}
