package serve

import (
	"net/http"
	"strings"

	"example.org/lockproof/site"
)

// maxForm bounds a form, in bytes.
const maxForm = 16 << 10

// answer serves the lab, the exercises, the stories and the guide.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, http.StatusBadRequest, "The form cannot be read.")
		return
	}
	request := site.Request{Path: strings.TrimPrefix(r.URL.Path, "/"), Form: r.URL.Query()}
	if r.Method == http.MethodPost {
		request.Form, request.Posted = r.PostForm, true
	}
	send(w, s.site.Answer(r.Context(), request))
}

func send(w http.ResponseWriter, page site.Page) {
	w.Header().Set("Content-Type", page.Type+"; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(page.Status)
	w.Write(page.Body)
}
