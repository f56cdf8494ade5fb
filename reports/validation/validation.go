//go:build !js

package validation

import (
	"cmp"
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

// Report is an answer and its run.
type Report struct {
	*validate.Answer
	Version string    `json:"version"` // of lockproof
	Started time.Time `json:"started"`
	Cluster string    `json:"cluster"`
	Seed    uint64    `json:"seed"`
	// Decisive are the lines of redis.conf that decide the answer.
	Decisive []string        `json:"settings"`
	TTLs     []time.Duration `json:"ttls"` // nanoseconds
	Drift    float64         `json:"drift"`
	ExitCode int             `json:"exit_code"`
}

// New makes a report of an answer.
func New(a *validate.Answer, version string, started time.Time) *Report {
	v := &Report{Answer: a, Version: version, Started: started, Cluster: a.Question.On, Seed: a.Question.Seed,
		TTLs: a.Question.TTLs, Drift: a.Question.Drift}
	if !a.Server.Unread {
		v.Decisive = a.Server.Redis.Lines()
	}
	v.ExitCode = exitCode(a)
	return v
}

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
func (v *Report) WriteJSON(w io.Writer) error { return reports.WriteJSON(w, v) }

// WriteFiles writes the report's file into a folder.
func (v *Report) WriteFiles(out string) ([]string, error) {
	return reports.WriteAll(out, []reports.File{{Name: reports.ValidationFile, Write: v.WriteJSON}})
}

var (
	styles = map[validate.Verdict]terminal.Style{validate.Safe: terminal.Green, validate.Unsafe: terminal.Red,
		validate.Inconclusive: terminal.Yellow}
	signs = map[validate.Verdict]string{validate.Safe: "✓", validate.Unsafe: "✗",
		validate.Inconclusive: "?"}
)

func verdictWords(v validate.Verdict) string {
	if v == validate.Inconclusive {
		return "in doubt"
	}
	return string(v)
}

func verdictOn(v validate.Verdict, s terminal.Screen) string {
	return s.Style(signs[v]+" "+verdictWords(v), styles[v])
}

// headline names the server and the TTLs, behind the verdict.
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

func (v *Report) whereSet(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return cmp.Or(v.Server.Redis.At(name).String(), "(Redis's default)")
}

// span writes a duration as settings do: 35s, 1m30s.
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

// Finding is one finding, with its place and a stable identifier.
type Finding struct {
	ID      string           `json:"id"`
	Verdict validate.Verdict `json:"verdict"`
	Place   conf.Place       `json:"place"`
	Message string           `json:"message"`
}

var crashIDs = map[conf.Crash]string{conf.Kill: "LP001", conf.Shutdown: "LP002", conf.PowerLoss: "LP003"}

// Findings are all reasons against a safe verdict, those for unsafe first.
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
		if (l.State == deploy.Broken || l.State == deploy.Open) && v.bears(l) {
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

// bears reports whether a broken link makes a row inconclusive.
func (v *Report) bears(l deploy.Link) bool {
	return slices.ContainsFunc(v.Rows, func(r validate.Row) bool {
		return r.Verdict == validate.Inconclusive && slices.Contains(l.Crashes, r.Crash)
	})
}

// unsafePlace is the place of the setting that makes a row unsafe.
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
