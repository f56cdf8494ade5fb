//go:build !js

package reports

import (
	"fmt"
	"path/filepath"
	"strings"

	"lockproof/validate"
)

// adviceFile names the file with the change of an advice, of which the first is 0.
func adviceFile(i int) string { return strings.Replace(adviceFiles, "*", fmt.Sprint(i+1), 1) }

// ApplyAdvice is the command that makes the change of an advice, of which the first is 0; ""
// where none does.
func (v *Validation) ApplyAdvice(i int) string {
	d := v.Advice[i].Diff
	switch {
	case d == nil || d.Redacted:
		return ""
	case d.Root:
		return "patch -d / -p1 < " + filepath.Join(v.Question.Out, adviceFile(i))
	}
	return "patch -p1 < " + filepath.Join(v.Question.Out, adviceFile(i))
}

// AdviceNotes are what there is to be known of an advice beside its change and its cost.
func (v *Validation) AdviceNotes(i int) (notes []string) {
	a := v.Advice[i]
	if a.ByHand != "" {
		notes = append(notes, "no diff: "+a.ByHand)
	}
	if a.Diff != nil && a.Diff.Redacted {
		notes = append(notes, "by hand: a line that changes holds a secret, which is not told")
	}
	if a.Verdict != validate.Safe {
		notes = append(notes, fmt.Sprintf("judged again: %s, for what is not judged above", a.Verdict))
	}
	return notes
}

func (t *validationText) advice() {
	if len(t.Advice) == 0 {
		return
	}
	t.heading("What would make it safe, the least expensive first")
	for i, a := range t.Advice {
		where := "in " + a.File + ":"
		if a.Against != "" {
			where = fmt.Sprintf("against %s, %s", a.Against, where)
		}
		t.hang(fmt.Sprintf("  %d. ", i+1), where)
		for _, line := range a.Lines {
			t.line("         " + line)
		}
		if a.Diff != nil {
			t.diff(a.Diff.Text)
		}
		for _, note := range t.AdviceNotes(i) {
			t.hang("     ", note)
		}
		if command := t.ApplyAdvice(i); command != "" {
			t.line("     apply: " + command)
		}
		t.hang("     ", "costs: "+a.Cost)
		t.hang("     ", "tried: "+GivenAway(a.Tally))
	}
}

// diff writes a unified diff, with what goes and what comes in colours.
func (t *validationText) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.Map(harmless, strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "-"):
			line = t.screen.style(line, bad)
		case strings.HasPrefix(line, "+"):
			line = t.screen.style(line, good)
		}
		t.line("         " + line)
	}
}
