package reports

import (
	"fmt"
	"io"
	"strings"

	"example.org/lockproof/reports/terminal"
)

// markdownWidth is the widest text that a page on GitHub shows without scrolling.
const markdownWidth = 100

// WriteSummary writes summary.md in GitHub's Markdown, for example for a job summary: the terminal's output for every
// row, or the answers for a lock under test. It is fenced, so that text from scenarios, locks and servers is no markup.
func (r *Report) WriteSummary(w io.Writer) error {
	p := &terminal.Page{Screen: terminal.Screen{Width: markdownWidth, Verbose: !r.UnderTest()}}
	r.print(p)
	p.Hang("", r.Setting())
	_, err := fmt.Fprintf(w, "## Lockproof: %s\n\n%s", r.Headline(), fenced(p.String()))
	return err
}

// fenced puts lines into a fence longer than any within them.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// headlines are the results of a run by its exit code.
var headlines = map[int]struct {
	text string
	tone Tone
}{
	ExitAsExpected: {"as expected", Good}, ExitDiffers: {"not as expected", Bad},
	ExitFailed: {"the harness failed", Bad}, ExitInconclusive: {"inconclusive", Doubt},
}

// Headline is the result of the run in three words.
func (r *Report) Headline() string { return headlines[r.ExitCode()].text }

// Tone is the tone of the headline.
func (r *Report) Tone() Tone { return headlines[r.ExitCode()].tone }

// Setting describes the options of the run.
func (r *Report) Setting() string {
	o := r.Options
	cluster := o.Cluster + " cluster"
	if servers := r.servers(); len(servers) > 0 {
		cluster += " of " + list(servers)
	}
	parts := []string{cluster, Plural(o.Trials, "trial") + " each", fmt.Sprintf("seed %d", o.Seed)}
	if r.Slice != nil {
		parts = append(parts, fmt.Sprintf("slice %d of %d", r.Slice.Index, r.Slice.Count))
	}
	if o.TTL > 0 {
		parts = append(parts, "TTL "+Duration(o.TTL))
	}
	if o.Lock != "" {
		parts = append(parts, "lock "+o.Lock)
	}
	if o.Nodes > 0 {
		parts = append(parts, "on "+serversText(o.Nodes))
	}
	if len(o.Without) > 0 {
		parts = append(parts, "without "+list(o.Without))
	}
	return fmt.Sprintf("Lockproof %s, %s: %s.", r.Version, r.Go, strings.Join(parts, ", "))
}
