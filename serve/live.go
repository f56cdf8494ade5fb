package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// How often the folder is looked at for a page, and how often a page is told
// that its connection lives.
const (
	pollInterval      = 500 * time.Millisecond
	keepAliveInterval = 15 * time.Second
)

// progress is how far a run is, as a page is told.
type progress struct {
	Done    int    `json:"done"`
	Planned int    `json:"planned"`
	State   string `json:"state"`
}

// state is how far all runs are that have not ended, as JSON.
func (s *Server) state() string {
	under := map[string]progress{}
	dirs, _ := s.find()
	for _, dir := range dirs {
		if run := s.read(dir); run.Underway != nil {
			under[dir] = progress{len(run.Underway.Done), run.Underway.Planned, run.State}
		}
	}
	data, _ := json.Marshal(under) // text and numbers always marshal
	return string(data)
}

// live tells a page, by server-sent events, each time a run gets on.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	stream := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	told, at := "", time.Time{}
	for {
		var err error
		switch now := s.state(); {
		case now != told:
			told, at = now, time.Now()
			_, err = fmt.Fprintf(w, "data: %s\n\n", now)
		case time.Since(at) > keepAliveInterval:
			at = time.Now()
			_, err = fmt.Fprint(w, ":\n\n")
		}
		if err != nil || stream.Flush() != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}
