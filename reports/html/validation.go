//go:build !js

package html

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io"

	"lockproof/reports"
	"lockproof/validate"
)

// validationView is what the page of a validation shows.
type validationView struct {
	*reports.Validation
	Style  template.CSS
	Script template.JS
	Policy string
	Lines  []settingLine
}

type settingLine struct{ Line, Place string }

// validationTemplate is the template "validation", with the parts that it shares with a
// report's page.
var validationTemplate = template.Must(Parts().Funcs(template.FuncMap{
	"span": reports.Span, "rate": reports.TrialsText, "step": reports.RunbookStepText, "verdict": reports.VerdictWords,
	"sign": func(v validate.Verdict) string { return validationSigns[v] },
}).ParseFS(files, "validation.gohtml"))

// validationSigns go with each verdict, as those of a report do.
var validationSigns = map[validate.Verdict]string{validate.Safe: "✓", validate.Unsafe: "✗", validate.Inconclusive: "?"}

// WriteValidation writes the page of a validation: one file that needs neither a
// network nor JavaScript.
func WriteValidation(w io.Writer, v *reports.Validation) error {
	digest := sha256.Sum256(Script())
	view := &validationView{
		Validation: v, Style: template.CSS(string(Style()) + string(asset("validation.css"))), Script: template.JS(Script()),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
			"'; base-uri 'none'; form-action 'none'",
	}
	for _, line := range v.Decisive {
		view.Lines = append(view.Lines, settingLine{line, v.WhereSet(line)})
	}
	return validationTemplate.ExecuteTemplate(w, "validation", view)
}
