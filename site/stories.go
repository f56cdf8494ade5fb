package site

import (
	"context"
	"io"
	"strings"

	"example.org/lockproof/docs/guide"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/lab"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/html"
	"example.org/lockproof/scenarios"
)

// storyView is the page that tells a scenario: as it stands, and as each of its variants.
type storyView struct {
	*scenarios.Scenario
	Steps    []string
	Chapters []guide.Chapter
	Tellings []telling
}

// telling is what came of one of them.
type telling struct {
	Variant string // "" as it stands
	ID      string
	*outcome
}

// story runs a scenario as it stands and as each of its variants, and tells what happens.
func (s *Site) story(ctx context.Context, name string) Page {
	of, err := lab.Find(name)
	if err != nil {
		return s.fail(notFound, sentence(err.Error()))
	}
	v := &storyView{Scenario: of, Chapters: guide.About(name), Steps: stepsOf(of)}
	for _, variant := range append([]scenarios.Variant{{}}, of.Variants...) {
		if variant.Name != "" && variant.Name == of.OneNode() {
			continue // it is for other locks
		}
		t, err := s.tell(ctx, of, variant.Name, "story-"+string(rune('a'+len(v.Tellings))))
		if err != nil {
			return s.fail(broken, err.Error())
		}
		v.Tellings = append(v.Tellings, t)
	}
	f := s.frame(of.Title, "stories", v)
	f.Description = strings.TrimSpace(of.Lesson)
	return show(ok, "story", f)
}

// Picture tells what breaks in a scenario or its variant: the picture and the story, as HTML.
func (s *Site) Picture(ctx context.Context, name, variant, id string) (string, error) {
	of, err := lab.Find(name)
	if err != nil {
		return "", err
	}
	told, err := s.tell(ctx, of, variant, id)
	if err != nil {
		return "", err
	}
	return rendered(told.Accounts)
}

// Evidence tells what breaks in a history that was recorded, as Picture does.
func Evidence(recorded io.Reader, id string) (string, error) {
	events, err := history.Read(recorded)
	if err != nil {
		return "", err
	}
	told, err := reports.NewHistory(events)
	if err != nil {
		return "", err
	}
	verdict, err := told.Verdict()
	if err != nil {
		return "", err
	}
	return rendered(html.Accounts(id, reports.TrialOf(verdict), told))
}

// rendered is accounts as HTML.
func rendered(all []*html.Account) (string, error) {
	var b strings.Builder
	for _, a := range all {
		if err := pages.ExecuteTemplate(&b, "account", a); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (s *Site) tell(ctx context.Context, of *scenarios.Scenario, variant, id string) (telling, error) {
	e, err := lab.New(of, variant)
	if err != nil {
		return telling{}, err
	}
	out, err := s.outcome(ctx, e, id, nil)
	return telling{variant, id, out}, err
}
