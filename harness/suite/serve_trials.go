package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/trial"
)

const (
	// progressInterval is how often a child says how far it has got.
	progressInterval = 250 * time.Millisecond
	// memoryInterval is how often it looks how much memory it has.
	memoryInterval = 25 * time.Millisecond
	// childMemory is how much memory a child may have. A trial that makes as many
	// events as it may, and is judged, needs half of it.
	childMemory = 1 << 30
)

// ServeTrials is a child of Children: it reads from in which trials to run, runs
// them one after another in virtual time, and writes to out what came of them. It
// ends the process when in ends, for then whoever started it is gone; and before
// its memory is more than a machine can be asked for.
func ServeTrials(in io.Reader, out io.Writer) error {
	os.Stdout, os.Stdin = os.Stderr, nil // a lock that prints must not talk to whoever reads out
	s := &server{out: json.NewEncoder(out), requests: make(chan request)}
	go s.read(nonBlocking(in))
	go s.reportProgress()
	go s.watchMemory()
	for r := range s.requests {
		seedRandomness(r.Task.Result.Seed)
		done := r.Task.Result
		if here, err := s.runner(r.ctx, r.Task); err == nil {
			done = here.runTask(r.ctx, *r.Task)
		} else {
			done.Failure = err.Error()
		}
		if err := s.send(response{Trial: &done, Events: done.Events, Abilities: done.Abilities}); err != nil {
			return err
		}
	}
	return nil
}

type server struct {
	trial    atomic.Pointer[trial.Journal] // of the trial under way; nil: there is none
	requests chan request

	mu  sync.Mutex
	out *json.Encoder
}

// runner is what runs a task, whose plan comes from another process.
func (s *server) runner(ctx context.Context, t *task) (*runner, error) {
	kind, err := cluster.Find(t.Result.Cluster)
	if err != nil {
		return nil, err
	}
	if err := t.Plan.Resolve(kind); err != nil {
		return nil, err
	}
	r, err := newRunner(ctx, kind, t.Plan.Settings.Choice, nil)
	if err != nil {
		return nil, err
	}
	r.watch = s.trial.Store
	return r, nil
}

func (s *server) send(r response) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(r)
}

// read passes on orders. A trial under way cannot be stopped from outside, so the
// end of the input ends the process.
func (s *server) read(in io.Reader) {
	decoder := json.NewDecoder(bufio.NewReader(in))
	ctx, cancel := context.WithCancel(context.Background())
	for {
		var o request
		err := decoder.Decode(&o)
		switch {
		case err == io.EOF:
			os.Exit(0)
		case err != nil:
			_ = s.send(response{FinalError: fmt.Sprintf("it was told what it cannot read: %v", err)})
			os.Exit(1)
		case o.Cancel:
			cancel()
		default:
			if ctx.Err() != nil { // what was called off is over; this is of another run
				ctx, cancel = context.WithCancel(context.Background())
			}
			o.ctx = ctx
			s.requests <- o
		}
	}
}

// stuck says why the trial under way may make no progress.
func stuck() string {
	place := bubble.MutexWait()
	if place == "" {
		return ""
	}
	return fmt.Sprintf("virtual time stands still while a goroutine waits for a mutex (%s) that another holds across a "+
		"call to a server: "+
		"use a channel in its place, or real servers", place)
}

// reportProgress says how far the trial under way has got, and why it gets no further.
func (s *server) reportProgress() {
	var before trial.Position
	for range time.Tick(progressInterval) {
		journal := s.trial.Load()
		if journal == nil {
			continue
		}
		now := journal.Position()
		r := response{Progress: &now}
		if now == before && !now.Judging {
			r.Stuck = stuck()
		}
		before = now
		_ = s.send(r) // if nobody listens, the input ends as well
	}
}

// watchMemory ends the process when it has too much. No limit of the system's
// does: Go reserves far more than it uses, on every system in another way.
func (s *server) watchMemory() {
	for range time.Tick(memoryInterval) {
		if has := memoryInUse(); has > childMemory {
			_ = s.send(response{FinalError: fmt.Sprintf("it had more than %d MB of memory, the most that a trial may take",
				childMemory>>20)})
			os.Exit(1)
		}
	}
}

// memoryInUse is what the process has of the machine's, in bytes, as far as Go
// knows.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
