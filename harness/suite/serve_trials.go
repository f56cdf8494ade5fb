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

	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/trial"
)

const (
	progressInterval = 250 * time.Millisecond
	memoryInterval   = 25 * time.Millisecond
	// childMemory bounds a child's memory. A trial with the maximum of events needs half of it to be judged.
	childMemory = 1 << 30
)

// ServeTrials is the main function of a child: it reads trials from in, runs them one after another in virtual time,
// and writes their results to out. It ends the process when in ends, since then the parent has ended, and when the
// process uses too much memory.
func ServeTrials(in io.Reader, out io.Writer) error {
	os.Stdout, os.Stdin = os.Stderr, nil // a lock's output must not mix with the responses
	s := &server{out: json.NewEncoder(out), requests: make(chan request)}
	go s.read(nonBlocking(in))
	go s.reportProgress()
	go s.watchMemory()
	here := &inProcess{watch: s.trial.Store}
	for r := range s.requests {
		seedRandomness(r.Task.Result.Seed)
		done := here.attempt(r.ctx, *r.Task)
		answer := response{Trial: &done, Events: done.Events, Abilities: done.Abilities, PastLast: done.pastLast}
		if err := s.send(answer); err != nil {
			return err
		}
	}
	return nil
}

type server struct {
	trial    atomic.Pointer[trial.Journal] // of the running trial; nil: none runs
	requests chan request

	mu  sync.Mutex
	out *json.Encoder
}

func (s *server) send(r response) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(r)
}

// read forwards requests. A running trial cannot be stopped from outside, so the end of the input ends the process.
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
			_ = s.send(response{FinalError: fmt.Sprintf("invalid request: %v", err)})
			os.Exit(1)
		case o.Cancel:
			cancel()
		default:
			if ctx.Err() != nil { // the cancelled run is over; this task belongs to another
				ctx, cancel = context.WithCancel(context.Background())
			}
			o.ctx = ctx
			s.requests <- o
		}
	}
}

// stuckReason returns why the running trial makes no progress, "" if unknown.
func stuckReason() string {
	place := bubble.MutexWait()
	if place == "" {
		return ""
	}
	return fmt.Sprintf("virtual time stands still while a goroutine waits for a mutex in %s that another holds "+
		"across a call to a server: use a channel in its place, or real servers", place)
}

// reportProgress sends the running trial's progress, or why it makes none.
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
			r.Stuck = stuckReason()
		}
		before = now
		_ = s.send(r) // if the parent has ended, so does the input
	}
}

// watchMemory ends the process when it uses too much memory. A limit of the system would not do: Go reserves far more
// than it uses, in a different way on each system.
func (s *server) watchMemory() {
	for range time.Tick(memoryInterval) {
		if has := memoryInUse(); has > childMemory {
			_ = s.send(response{FinalError: fmt.Sprintf("it had more than %d MB of memory, the most that a trial may take",
				childMemory>>20)})
			os.Exit(1)
		}
	}
}

// memoryInUse is the process's memory in bytes, as Go reports it.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
