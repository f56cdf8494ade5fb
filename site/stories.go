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

// storyView is the story page of a scenario and its variants.
type storyView struct {
	*scenarios.Scenario
	Steps    []string
	Chapters []guide.Chapter
	Stories  []variantStory
}

type variantStory struct {
	Variant string // "" for the scenario itself
	*outcome
}

// story runs a scenario and each variant, and shows their stories.
func (s *Site) story(ctx context.Context, name string) Page {
	scenario, err := lab.Find(name)
	if err != nil {
		return s.fail(notFound, sentence(err.Error()))
	}
	v := &storyView{Scenario: scenario, Chapters: guide.About(name), Steps: stepsOf(scenario)}
	for _, variant := range append([]scenarios.Variant{{}}, scenario.Variants...) {
		if variant.Name != "" && variant.Name == scenario.OneNode() {
			continue // for single-node locks
		}
		t, err := s.runVariant(ctx, scenario, variant.Name, "story-"+string(rune('a'+len(v.Stories))))
		if err != nil {
			return s.fail(broken, err.Error())
		}
		v.Stories = append(v.Stories, t)
	}
	f := s.frame(scenario.Title, "stories", v)
	f.Description = strings.TrimSpace(scenario.Lesson)
	return show(ok, "story", f)
}

// Picture runs a scenario or its variant, and returns the pictures and stories as HTML.
func (s *Site) Picture(ctx context.Context, name, variant, id string) (string, error) {
	scenario, err := lab.Find(name)
	if err != nil {
		return "", err
	}
	story, err := s.runVariant(ctx, scenario, variant, id)
	if err != nil {
		return "", err
	}
	return rendered(story.Accounts)
}

// Evidence returns the pictures and stories of a recorded history as HTML.
func Evidence(recorded io.Reader, id string) (string, error) {
	events, err := history.Read(recorded)
	if err != nil {
		return "", err
	}
	h, err := reports.NewHistory(events)
	if err != nil {
		return "", err
	}
	verdict, err := h.Verdict()
	if err != nil {
		return "", err
	}
	return rendered(html.Accounts(id, reports.Findings(reports.TrialOf(verdict), h)))
}

func rendered(all []*html.Account) (string, error) {
	var b strings.Builder
	for _, a := range all {
		if err := pages.ExecuteTemplate(&b, "account", a); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (s *Site) runVariant(ctx context.Context, scenario *scenarios.Scenario, variant, id string) (variantStory, error) {
	e, err := lab.New(scenario, variant)
	if err != nil {
		return variantStory{}, err
	}
	out, err := s.outcome(ctx, e, id, nil)
	return variantStory{variant, out}, err
}
