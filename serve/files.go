package serve

import (
	"io/fs"
	"net/http"
	"path"
	"path/filepath"

	"example.org/lockproof/reports"
)

// filePolicy is for pages that a run has written: they may run their own script
// and reach nothing, and their origin is nobody's.
const filePolicy = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; " +
	"script-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'"

// kinds are the files of a run that are given out, by name.
var kinds = map[string]string{
	reports.PageFile:     "text/html",
	reports.TimelineFile: "image/svg+xml",
	reports.ResultsFile:  "application/json",
	reports.JUnitFile:    "application/xml",
	reports.SummaryFile:  "text/plain",
	reports.ProgressFile: "text/plain",
	"history.jsonl":      "text/plain",
}

// file gives out one file of a run. os.Root keeps to the folder whatever the
// name or a link says.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("path")
	kind, known := kinds[path.Base(name)]
	if !known || !fs.ValidPath(name) || !s.regular(name) {
		s.fail(w, http.StatusNotFound, "There is no such file of a run.")
		return
	}
	file, err := s.root.Open(filepath.FromSlash(name))
	if err != nil {
		s.fail(w, http.StatusNotFound, "The file cannot be read.")
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		s.fail(w, http.StatusNotFound, "The file cannot be read.")
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.Header().Set("Content-Security-Policy", filePolicy)
	w.Header().Set("Cache-Control", "no-cache")
	if path.Base(name) == reports.TimelineFile { // a run's page shows it, whose origin is nobody's
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	http.ServeContent(w, r, "", info.ModTime(), file)
}
