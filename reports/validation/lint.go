//go:build !js

package validation

import (
	"fmt"
	"io"

	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/validate"
)

// Formats are the formats of findings.
var Formats = []string{"text", "json", "github"}

// WriteFindings writes the findings of one or several answers.
func WriteFindings(w io.Writer, format string, findings []Finding) error {
	if format == "json" {
		return reports.WriteJSON(w, append([]Finding{}, findings...))
	}
	for _, f := range findings {
		line := fmt.Sprintf("%s: %s %s: %s\n", f.Place, f.ID, verdictWords(f.Verdict), terminal.Clean(f.Message))
		if format == "github" {
			kind := "warning"
			if f.Verdict == validate.Unsafe {
				kind = "error"
			}
			line = reports.Annotation(kind, f.Place.File, max(f.Place.Line, 1), f.ID, f.Message)
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}
