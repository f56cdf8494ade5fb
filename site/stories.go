package site

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lockproof/docs/guide"
	"lockproof/lab"
	"lockproof/reports"
	"lockproof/reports/html"
	"lockproof/scenarios"
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

func (s *Site) storyList() Page {
	all, err := lab.Catalogue()
	if err != nil {
		return s.fail(broken, err.Error())
	}
	return show(ok, "story-list", s.frame("The catalogue's stories", "stories", all))
}

// story runs a scenario as it stands and as each of its variants, and tells what happens.
func (s *Site) story(ctx context.Context, name string) Page {
	all, err := lab.Catalogue()
	if err != nil {
		return s.fail(broken, err.Error())
	}
	i := slices.IndexFunc(all, func(c *scenarios.Scenario) bool { return c.Name == name })
	if i < 0 {
		return s.fail(notFound, "There is no story of that name.")
	}
	v := &storyView{Scenario: all[i], Chapters: guide.About(name)}
	v.Steps = stepsOf(all[i])
	for _, variant := range append([]scenarios.Variant{{}}, all[i].Variants...) {
		if variant.Name != "" && variant.Name == all[i].OneNode() {
			continue // it is for other locks
		}
		t, err := s.tell(ctx, all[i], variant.Name, "story-"+string(rune('a'+len(v.Tellings))))
		if err != nil {
			return s.fail(broken, err.Error())
		}
		v.Tellings = append(v.Tellings, t)
	}
	f := s.frame(all[i].Title, "stories", v)
	f.Description = strings.TrimSpace(all[i].Lesson)
	return show(ok, "story", f)
}

// Picture tells what breaks in a scenario or its variant: the picture and the story, as HTML.
func (s *Site) Picture(ctx context.Context, name, variant, id string) (string, error) {
	all, err := lab.Catalogue()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(c *scenarios.Scenario) bool { return c.Name == name })
	if i < 0 {
		return "", fmt.Errorf("the lab has no scenario %q", name)
	}
	told, err := s.tell(ctx, all[i], variant, id)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, a := range told.Accounts {
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
	o, err := s.bench.Run(ctx, e)
	if err != nil {
		return telling{}, err
	}
	told, err := reports.NewHistory(o.Trial.Events)
	if err != nil {
		return telling{}, err
	}
	out := &outcome{Length: reports.Duration(o.Trial.Simulated), Accounts: html.Accounts(id, o.Trial, told)}
	for _, r := range o.Verdicts {
		out.Verdicts = append(out.Verdicts, scored{Result: r, Tone: tone(r, o.Trial.Expect, nil)})
	}
	return telling{variant, id, out}, nil
}
