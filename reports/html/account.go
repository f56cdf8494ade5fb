package html

import (
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// Account is a finding for the template "account".
type Account struct {
	reports.Finding
	ID      string
	What    string   // "" without a violation
	Facts   []string // the violation's facts in the history
	Cause   string   // the result of experiments; "" if unknown
	Picture *timeline
}

// Accounts returns an account of the first violation of each property or, without violations, of the whole history.
// Their element ids begin with id. There is none if no client ever held a lease and no node a key.
func Accounts(id string, trial suite.Result, h *reports.History) []*Account {
	return accounts(id, reports.Findings(trial, h))
}

// accounts skips findings without a story.
func accounts(id string, found []reports.Finding) (all []*Account) {
	for _, f := range found {
		switch {
		case f.Story == nil:
		case f.Violation == nil:
			all = append(all, account(id, f))
		default:
			all = append(all, account(id+"-"+suite.Slug(f.Property), f))
		}
	}
	return all
}

func account(id string, f reports.Finding) *Account {
	a := &Account{ID: id, Finding: f, Picture: draw(id, f)}
	if v := f.Violation; v != nil {
		a.What = sentenceCase(strings.TrimSuffix(v.What, "."))
		if plain := f.Story.Headline(v); plain != "" && f.Property == checker.ProtectedData {
			a.What, a.Facts = plain, []string{a.What + "."}
		}
		for _, f := range v.Facts {
			a.Facts = append(a.Facts, sentenceCase(f.What)+".")
		}
	}
	if f.Cause != nil {
		a.Cause = strings.TrimPrefix(f.Cause.Sentence(), "cause: ") + "."
	}
	return a
}
