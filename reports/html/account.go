package html

import (
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// Account is a finding for the template "account".
type Account struct {
	reports.Finding
	Picture *timeline
}

// Accounts returns an account of each finding with a story. Their element ids begin with id.
func Accounts(id string, found []reports.Finding) (all []*Account) {
	for _, f := range found {
		if f.Story == nil {
			continue
		}
		own := id
		if f.Violation != nil {
			own += "-" + suite.Slug(f.Property)
		}
		all = append(all, &Account{f, draw(own, f)})
	}
	return all
}
