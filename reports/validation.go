//go:build !js

package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"lockproof/validate"
)

// Validation is an answer with what is known of the run that gave it.
type Validation struct {
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

// NewValidation completes an answer for its reader.
func NewValidation(a *validate.Answer, version string, started time.Time) *Validation {
	v := &Validation{Answer: a, Version: version, Started: started, Cluster: a.Question.On, Seed: a.Question.Seed,
		TTLs: a.Question.TTLs, Drift: a.Question.Drift, Decisive: a.Question.Redis.Lines()}
	if a.Service != nil { // whose settings are its own
		v.Decisive = nil
	}
	v.ExitCode = validationExit(a)
	return v
}

// validationExit is 0 for safe, 1 for unsafe, 3 if the harness failed, and else 2.
func validationExit(a *validate.Answer) int {
	switch {
	case a.Verdict == validate.Unsafe:
		return ExitDiffers
	case a.Failure != "":
		return ExitFailed
	case a.Verdict == validate.Inconclusive:
		return ExitInconclusive
	}
	return ExitAsExpected
}

// WriteJSON writes the answer as JSON; docs/validate.md describes it.
func (v *Validation) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// WriteFiles writes the files of a validation into a folder, and each change that is advised
// as patch takes it.
func (v *Validation) WriteFiles(out string, more ...File) ([]string, error) {
	files := append([]File{{ValidationFile, v.WriteJSON}}, more...)
	for i, a := range v.Advice {
		if a.Diff != nil && !a.Diff.Redacted {
			files = append(files, File{adviceFile(i), func(w io.Writer) error { _, err := io.WriteString(w, a.Diff.Text); return err }})
		}
	}
	return writeFiles(out, files)
}

// verdictStyles are how the answers look on a terminal.
var (
	validationStyles = map[validate.Verdict]lipgloss.Style{validate.Safe: good, validate.Unsafe: bad, validate.Inconclusive: doubt}
	validationSigns  = map[validate.Verdict][2]string{validate.Safe: {"✓", "+"}, validate.Unsafe: {"✗", "x"},
		validate.Inconclusive: {"?", "?"}}
)

func (s Screen) verdict(v validate.Verdict) string {
	sign := validationSigns[v][1]
	if s.UTF8 {
		sign = validationSigns[v][0]
	}
	return s.style(sign+" "+string(v), validationStyles[v])
}

// Headline says what came of the question.
func (v *Validation) Headline() string {
	var ttls []string
	for _, ttl := range v.TTLs {
		ttls = append(ttls, Span(ttl))
	}
	text := fmt.Sprintf("%s with a TTL of %s", v.Verdict, list(ttls))
	if v.Interrupted {
		text += ", as far as it went: it was interrupted"
	}
	return text
}

// Doubts are what keeps the settings from being judged, and what there is to be
// known besides, each with its place.
func (v *Validation) Doubts() (open, known []string) {
	for _, d := range v.Unknown {
		open = append(open, fmt.Sprintf("%s: %s: it is not known whether this matters", d.Place, d.Name))
	}
	for _, r := range v.Remarks {
		if len(r.Doubts) > 0 {
			open = append(open, r.String())
		} else {
			known = append(known, r.String())
		}
	}
	return open, known
}

// WhereSet says where a line of redis.conf comes from.
func (v *Validation) WhereSet(line string) string {
	name, _, _ := strings.Cut(line, " ")
	at, ok := v.Question.Redis.At(name)
	switch {
	case !ok:
		return "(default)"
	case at.Line == 0:
		return "(given)"
	}
	return at.String()
}

// Took is how long the run took.
func (v *Validation) Took() string { return Duration(v.Elapsed) }

// DriftText is the drift factor in per cent.
func (v *Validation) DriftText() string { return fmt.Sprintf("%g %%", v.Drift*100) }

// Span writes a setting's time as settings do: 35s, 1m30s.
func Span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Text is the answer for a reader.
func (v *Validation) Text(screen Screen) string {
	t := &validationText{Validation: v, screen: screen}
	t.line(screen.verdict(v.Verdict) + strings.TrimPrefix(v.Headline(), string(v.Verdict)))
	if len(v.Decisive) > 0 {
		t.heading("Settings")
	}
	for _, line := range v.Decisive {
		t.line("  " + line + screen.style("  "+v.WhereSet(line), faint))
	}
	t.rows()
	t.takeovers()
	t.hazards()
	t.unjudged()
	t.costs()
	t.found()
	t.limits()
	t.frontier()
	t.advice()
	for _, s := range v.Skipped {
		t.hang("not measured: ", s)
	}
	if v.Failure != "" {
		t.hang("the harness failed: ", v.Failure)
	}
	t.line("")
	t.line(fmt.Sprintf("%s in %s.", plural(v.Trials, "trial"), Duration(v.Elapsed)))
	return screen.plain(t.String())
}
