//go:build !js

package validation

import (
	"fmt"
	"io"
	"strings"

	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/validate"
)

// Formats are the forms of findings.
var Formats = []string{"text", "json", "github"}

// WriteFindings writes the findings of one or several answers, a line each, or as other programs read them.
func WriteFindings(w io.Writer, format string, findings []Finding) error {
	if format == "json" {
		return writeJSON(w, append([]Finding{}, findings...))
	}
	for _, f := range findings {
		line := fmt.Sprintf("%s: %s %s: %s\n", f.Place, f.ID, VerdictWords(f.Verdict), terminal.Clean(f.Message))
		if format == "github" {
			kind := "warning"
			if f.Verdict == validate.Unsafe {
				kind = "error"
			}
			line = fmt.Sprintf("::%s file=%s,line=%d,title=%s::%s\n", kind, property(f.Place.File), max(f.Place.Line, 1), f.ID,
				workflowEscape(f.Message))
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// workflowEscape and property write a workflow command's values as GitHub reads them.
func workflowEscape(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(workflowEscape(text))
}
