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

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input"
)

// Server is the proxy, in its container.
type Server struct {
	machines *machines

	mu  sync.Mutex
	run *run // nil before the first
}

// NewServer makes a proxy. The servers' volumes are mounted in one folder, each under its server's name.
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
	serve(mux, Clock, func(context.Context, none) (int64, error) { return realtime.Monotonic(), nil })
	serve(mux, Begin, s.begin)
	serve(mux, End, func(context.Context, none) (none, error) { return none{}, s.end() })
	serve(mux, Events, func(_ context.Context, seen int) ([]history.Event, error) {
		return withRun(s, true, func(r *run) ([]history.Event, error) { return r.since(seen) })
	})
	serve(mux, move, func(ctx context.Context, m moved) (none, error) {
		return withRun(s, false, func(r *run) (none, error) { return none{}, r.Move(ctx, m.Server, m.Address) })
	})
	serveLink(s, mux, cut, func(_ *run, l cluster.Link, o Order) (none, error) { return none{}, l.Cut(o.Direction) })
	serveLink(s, mux, heal, func(_ *run, l cluster.Link, o Order) (none, error) { return none{}, l.Heal(o.Direction) })
	serveLink(s, mux, delay, func(_ *run, l cluster.Link, o Order) (done none, err error) {
		if err = network.CheckDelay(max(o.By, 0)); err == nil {
			err = l.Delay(o.Direction, o.By)
		}
		return done, err
	})
	serveLink(s, mux, intercept, func(r *run, l cluster.Link, o Order) (int, error) {
		affected, err := l.Intercept(o.Intercept)
		if err != nil {
			return 0, err
		}
		return r.keep(affected), nil
	})
	serveLink(s, mux, letGo, func(_ *run, l cluster.Link, _ Order) (int, error) { return l.LetGo() })
	serveLink(s, mux, count, func(_ *run, l cluster.Link, o Order) (counts [2]int, err error) {
		counts[0], counts[1] = l.Count(o.Command)
		return counts, nil
	})
	serveLink(s, mux, measure, func(r *run, l cluster.Link, o Order) (int, error) {
		return r.keep(l.Measure(o.Direction)), nil
	})
	serveLink(s, mux, traffic, func(r *run, _ cluster.Link, o Order) (cluster.Traffic, error) { return r.read(o.Number) })
	serve(mux, Retire, s.machines.retire)
	serve(mux, Renew, s.machines.renew)
	serve(mux, Keep, s.machines.keep)
	serve(mux, SetClock, s.machines.setClock)
	serve(mux, Disturb, s.machines.disturb)
	serve(mux, CutPower, s.machines.cutPower)
	return mux
}

// maxBody bounds one message in bytes, in both directions: the port is open to all users of this machine.
const maxBody = input.Config

// serve answers a call with f, whose context ends when the client disconnects.
func serve[In, Out any](mux *http.ServeMux, path Call[In, Out], f func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST "+string(path), func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
			http.Error(w, fmt.Sprintf("%s wants JSON: %v", path, err), http.StatusBadRequest)
			return
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

// serveLink answers a call of a link's method with f.
func serveLink[Out any](s *Server, mux *http.ServeMux, path Call[Order, Out],
	f func(*run, cluster.Link, Order) (Out, error)) {
	serve(mux, path, func(_ context.Context, o Order) (Out, error) {
		return withRun(s, false, func(r *run) (out Out, err error) {
			l := r.Link(o.Link)
			if l == nil {
				return out, fmt.Errorf("there is no link from %q to %q in this run", o.From, o.To)
			}
			return f(r, l, o)
		})
	})
}

var errNoRun = errors.New("there is no run: POST /run begins one")

// withRun calls f with the current run, or also with the latest ended one.
func withRun[T any](s *Server, ended bool, f func(*run) (T, error)) (T, error) {
	s.mu.Lock()
	r := s.run
	if r == nil || r.ended && !ended {
		s.mu.Unlock()
		var nothing T
		return nothing, errNoRun
	}
	s.mu.Unlock()
	return f(r)
}

// begin ends the previous run and begins another.
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
