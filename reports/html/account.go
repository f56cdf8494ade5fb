package html

import (
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// Account is a finding for the template "account".
type Account struct {
	reports.Finding
	ID      string
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
		if f.Story == nil {
			continue
		}
		own := id
		if f.Violation != nil {
			own += "-" + suite.Slug(f.Property)
		}
		all = append(all, &Account{Finding: f, ID: own, Picture: draw(own, f)})
	}
	return all
}
