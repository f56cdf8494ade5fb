//go:build !js

package validation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/internal/wording"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/validate"
	"example.org/lockproof/validate/deploy"
	conf "example.org/lockproof/validate/settings"
)

// Report is an answer with what is known of the run that gave it.
type Report struct {
	*validate.Answer
	Version string    `json:"version"` // of lockproof
	Started time.Time `json:"started"`
	Cluster string    `json:"cluster"`
	Seed    uint64    `json:"seed"`
	// Decisive are the lines of redis.conf that the answer rests on.
	Decisive []string        `json:"settings"`
	TTLs     []time.Duration `json:"ttls"` // nanoseconds
	Drift    float64         `json:"drift"`
	ExitCode int             `json:"exit_code"`
}

// New completes an answer for its reader.
func New(a *validate.Answer, version string, started time.Time) *Report {
	v := &Report{Answer: a, Version: version, Started: started, Cluster: a.Question.On, Seed: a.Question.Seed,
		TTLs: a.Question.TTLs, Drift: a.Question.Drift}
	if !a.Server.Unread {
		v.Decisive = a.Server.Redis.Lines()
	}
	v.ExitCode = exitCode(a)
	return v
}

// exitCode is 0 for safe, 1 for unsafe, 3 if the harness failed, and else 4.
func exitCode(a *validate.Answer) int {
	switch {
	case a.Verdict == validate.Unsafe:
		return reports.ExitDiffers
	case a.Failure != "":
		return reports.ExitFailed
	case a.Verdict == validate.Inconclusive:
		return reports.ExitInconclusive
	}
	return reports.ExitAsExpected
}

// WriteJSON writes the answer as JSON; docs/validate.md describes it.
func (v *Report) WriteJSON(w io.Writer) error { return writeJSON(w, v) }

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// WriteFiles writes the file of a validation into a folder.
func (v *Report) WriteFiles(out string) ([]string, error) {
	return reports.WriteAll(out, []reports.File{{Name: reports.ValidationFile, Write: v.WriteJSON}})
}

// styles are how the answers look on a terminal.
var (
	styles = map[validate.Verdict]terminal.Style{validate.Safe: terminal.Green, validate.Unsafe: terminal.Red,
		validate.Inconclusive: terminal.Yellow}
	signs = map[validate.Verdict]string{validate.Safe: "✓", validate.Unsafe: "✗",
		validate.Inconclusive: "?"}
)

// verdictWords are the verdicts as they are said.
func verdictWords(v validate.Verdict) string {
	if v == validate.Inconclusive {
		return "in doubt"
	}
	return string(v)
}

// verdictOn is a verdict with its sign.
func verdictOn(v validate.Verdict, s terminal.Screen) string {
	return s.Style(signs[v]+" "+verdictWords(v), styles[v])
}

// headline says, behind the verdict, what it is about.
func (v *Report) headline() string {
	var ttls []string
	for _, ttl := range v.TTLs {
		ttls = append(ttls, span(ttl))
	}
	what := "--set"
	switch files := v.Server.Place.File; {
	case files != "" && v.Server.Kind != deploy.ConfigOnly && v.Server.Kind != deploy.Running:
		what = fmt.Sprintf("%s (%s)", v.Server.Name, files)
		if v.Server.Workload != "" {
			what = fmt.Sprintf("%s, container %s (%s)", v.Server.Workload, v.Server.Name, files)
		}
	case files != "":
		what = files
	}
	text := fmt.Sprintf(": %s with a TTL of %s", what, wording.List(ttls))
	if v.Interrupted {
		text += ", as far as it went: it was interrupted"
	}
	return text
}

// whereSet says where a line of redis.conf comes from.
func (v *Report) whereSet(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return cmp.Or(v.Server.Redis.At(name).String(), "(Redis's default)")
}

// span writes a setting's time as settings do: 35s, 1m30s.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Finding is one thing to be known, with where it stands and a stable identifier.
type Finding struct {
	ID      string           `json:"id"`
	Verdict validate.Verdict `json:"verdict"`
	Place   conf.Place       `json:"place"`
	Message string           `json:"message"`
}

// crashIDs identify what is unsafe in each crash.
var crashIDs = map[conf.Crash]string{conf.Kill: "LP001", conf.Shutdown: "LP002", conf.PowerLoss: "LP003"}

// Findings are all that keeps an answer from being safe, what is unsafe first, each once.
func (v *Report) Findings() (all []Finding) {
	add := func(f Finding) {
		same := func(g Finding) bool { return g.ID == f.ID && g.Place == f.Place && g.Message == f.Message }
		if !slices.ContainsFunc(all, same) {
			all = append(all, f)
		}
	}
	place := v.Server.Place
	for _, r := range v.Rows {
		if r.Verdict == validate.Unsafe {
			add(Finding{crashIDs[r.Crash], r.Verdict, v.unsafePlace(r), fmt.Sprintf("%s: %s", r.Crash, r.Reason)})
		}
	}
	for _, t := range v.Takeovers {
		if t.Verdict != validate.Safe {
			add(Finding{"LP004", t.Verdict, place, fmt.Sprintf("%s: %s", t.Takeover, t.Reason)})
		}
	}
	for _, h := range v.Hazards {
		add(Finding{h.ID, h.Verdict, h.Place, h.Name + ": " + h.Reason})
	}
	for _, l := range v.Server.Links {
		if l.State == deploy.Broken && v.bears(l) {
			add(Finding{l.ID(), validate.Inconclusive, l.Place, l.What})
		}
	}
	for _, r := range v.Rows {
		if r.Verdict == validate.Inconclusive && r.Link == nil {
			add(Finding{"LP019", r.Verdict, place, fmt.Sprintf("%s: %s", r.Crash, r.Reason)})
		}
	}
	return all
}

// bears reports whether a broken link keeps a row in doubt.
func (v *Report) bears(l deploy.Link) bool {
	return slices.ContainsFunc(v.Rows, func(r validate.Row) bool {
		return r.Verdict == validate.Inconclusive && slices.Contains(l.Crashes, r.Crash)
	})
}

// unsafePlace is where the setting stands that makes a row unsafe.
func (v *Report) unsafePlace(r validate.Row) conf.Place {
	for _, l := range v.Server.Links {
		if l.State == deploy.Contradicted && slices.Contains(l.Crashes, r.Crash) {
			return l.Place
		}
	}
	for _, name := range []string{"appendfsync", "appendonly", "save"} {
		if at := v.Server.Redis.At(name); at.File != "" && (name != "appendfsync" || v.Server.Redis.AppendOnly) {
			return at
		}
	}
	return v.Server.CommandPlace
}
