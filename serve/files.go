package serve

import (
	"archive/zip"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"lockproof/reports"
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

// place is where a run's files are below its folder.
var place = regexp.MustCompile(`^(trials/[^/]+/[0-9]+/)?[^/]+$`)

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
	if r.URL.Query().Has("download") {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
	}
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// download gives out all files of a run in one archive.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	dir := r.URL.Query().Get("dir")
	run := s.isRequested(dir)
	if run == nil {
		s.fail(w, http.StatusNotFound, "There is no such run.")
		return
	}
	name := "lockproof"
	if base := path.Base(dir); base != "." {
		name = base
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + ".zip"}))
	archive := zip.NewWriter(w)
	defer archive.Close()
	fs.WalkDir(s.root.FS(), dir, func(file string, d fs.DirEntry, err error) error {
		below := strings.TrimPrefix(strings.TrimPrefix(file, dir), "/")
		if dir == "." {
			below = file
		}
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			if file != dir && below != "trials" && !strings.HasPrefix(below, "trials/") {
				return fs.SkipDir
			}
			return nil
		case kinds[d.Name()] == "" || !d.Type().IsRegular() || !place.MatchString(below):
			return nil
		}
		return s.pack(archive, file, name+"/"+below)
	})
}

// pack adds a file to an archive.
func (s *Server) pack(archive *zip.Writer, file, name string) error {
	from, err := s.root.Open(filepath.FromSlash(file))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := archive.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}
