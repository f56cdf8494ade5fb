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
var Formats = []string{"text", "json", "sarif", "github"}

// rules describe the identifiers of findings.
var rules = []struct{ ID, Text string }{
	{"LP001", "A kill can lose a lock"}, {"LP002", "A shutdown can lose a lock"},
	{"LP003", "A power loss can lose a lock"},
	{"LP004", "A takeover by a replica can lose a lock"}, {"LP005", "A full server may evict a lock"},
	{"LP006", "fsync is suspended while a child works"}, {"LP011", "The server program is not known"},
	{"LP012", "The settings are not known"}, {"LP013", "Where the data lie is not known"},
	{"LP014", "What restarts the server is not known"},
	{"LP015", "Something else may touch data or settings"}, {"LP016", "A second server may run beside it"},
	{"LP017", "A replica may take over"}, {"LP018", "A file cannot be read"}, {"LP019", "The trials decided nothing"},
}

// WriteFindings writes the findings of one or several answers, a line each, or as other programs read them.
func WriteFindings(w io.Writer, format string, findings []Finding) error {
	switch format {
	case "json":
		return writeJSON(w, append([]Finding{}, findings...))
	case "sarif":
		return writeSARIF(w, findings)
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

// writeSARIF writes findings as SARIF 2.1.0.
func writeSARIF(w io.Writer, findings []Finding) error {
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID               string `json:"id"`
		ShortDescription text   `json:"shortDescription"`
	}
	described, results := []rule{}, []map[string]any{}
	for _, r := range rules {
		described = append(described, rule{r.ID, text{r.Text}})
	}
	for _, f := range findings {
		level := "warning"
		if f.Verdict == validate.Unsafe {
			level = "error"
		}
		place := map[string]any{"artifactLocation": map[string]string{"uri": f.Place.File},
			"region": map[string]int{"startLine": max(f.Place.Line, 1)}}
		results = append(results, map[string]any{"ruleId": f.ID, "level": level, "message": text{terminal.Clean(f.Message)},
			"locations": []any{map[string]any{"physicalLocation": place}}})
	}
	return writeJSON(w, map[string]any{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{"tool": map[string]any{"driver": map[string]any{"name": "lockproof",
			"rules": described}}, "results": results}}})
}
