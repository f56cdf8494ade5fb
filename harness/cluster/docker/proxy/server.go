package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"

	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input"
)

// Server is the proxy in its container.
type Server struct {
	machines *machines

	mu  sync.Mutex
	run *run // nil: none so far
}

// NewServer makes a proxy. The servers' volumes are mounted in a folder, each under its
// server's name.
func NewServer(volumes string) (*Server, error) {
	m, err := newMachines(volumes)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return &Server{machines: m}, nil
}

// Serve serves the API on a port until ctx ends.
func (s *Server) Serve(ctx context.Context, port int) error {
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	server := &http.Server{Handler: s.Handler()}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("proxy: %w", err)
	}
	return s.end()
}

// Handler is the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	none := struct{}{}
	mux.Handle("GET /clock", answer(func(context.Context, struct{}) (int64, error) { return realtime.Monotonic(), nil }))
	mux.Handle("POST /run", answer(s.begin))
	mux.Handle("DELETE /run", answer(func(context.Context, struct{}) (struct{}, error) { return none, s.end() }))
	mux.Handle("POST /events", answer(func(_ context.Context, seen int) ([]history.Event, error) {
		return with(s, true, func(r *run) ([]history.Event, error) { return r.since(seen) })
	}))
	mux.Handle("POST /server", answer(func(ctx context.Context, m Moved) (struct{}, error) {
		return with(s, false, func(r *run) (struct{}, error) { return none, r.Move(ctx, m.Server, m.Address) })
	}))
	mux.Handle("POST /link", answer(func(_ context.Context, o Order) (Result, error) {
		return with(s, false, func(r *run) (Result, error) { return r.obey(o) })
	}))
	mux.Handle("POST /machine/retire", answer(func(ctx context.Context, server string) (struct{}, error) {
		return none, s.machines.retire(ctx, server)
	}))
	mux.Handle("POST /machine", answer(func(ctx context.Context, m Machine) (struct{}, error) {
		return none, s.machines.renew(ctx, m)
	}))
	mux.Handle("POST /machine/keep", answer(func(_ context.Context, m Machine) (struct{}, error) {
		return none, s.machines.keep(m)
	}))
	mux.Handle("POST /machine/clock", answer(s.machines.setClock))
	mux.Handle("POST /machine/disk", answer(s.machines.disturb))
	mux.Handle("POST /machine/power", answer(s.machines.cutPower))
	return mux
}

// longestBody bounds one message in bytes, both ways: the port is open to all on
// this machine.
const longestBody = input.Config

// answer makes a handler of a function from one JSON value to another, whose context ends when the
// client gives up. A GET or DELETE has no body.
func answer[In, Out any](f func(context.Context, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody)).Decode(&in); err != nil {
				http.Error(w, fmt.Sprintf("%s wants JSON: %v", r.URL.Path, err), http.StatusBadRequest)
				return
			}
		}
		out, err := f(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // the client disconnected
	})
}

var errNoRun = errors.New("there is no run: POST /run begins one")

// with calls f with the run at hand, or with the latest that has ended.
func with[T any](s *Server, ended bool, f func(*run) (T, error)) (T, error) {
	s.mu.Lock()
	r := s.run
	if r == nil || r.ended && !ended {
		s.mu.Unlock()
		var none T
		return none, errNoRun
	}
	s.mu.Unlock()
	return f(r)
}

// begin ends the run before and begins another.
func (s *Server) begin(_ context.Context, want network.Run) ([]network.Listening, error) {
	if err := s.end(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := openRun(want)
	if err != nil {
		return nil, err
	}
	s.run = r
	return r.Listening(), nil
}

func (s *Server) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && !s.run.ended {
		s.run.Close()
		s.run.ended = true
	}
	return nil
}
