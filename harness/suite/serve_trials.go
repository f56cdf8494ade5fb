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
	"time"

	"lockproof/harness/trial"
)

const (
	// paceEvery is how often a child says how far it has got.
	paceEvery = 250 * time.Millisecond
	// memoryEvery is how often it looks how much memory it has.
	memoryEvery = 25 * time.Millisecond
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
	s := &server{out: json.NewEncoder(out), progress: &trial.Progress{}, orders: make(chan order)}
	go s.read(waiting(in))
	go s.beat()
	go s.watchMemory()
	memory := tuneCollector()
	defer memory.end()
	loadBallast()
	jobs := map[int]order{}
	for o := range s.orders {
		if o.Job != nil {
			jobs[o.Row] = o
		}
		known, ok := jobs[o.Row]
		if !ok {
			return fmt.Errorf("row %d has not been given", o.Row)
		}
		r, err := newRunner(o.ctx, *known.Options)
		if err != nil {
			return err
		}
		r.progress = s.progress
		s.progress.Begin()
		done := r.try(o.ctx, ticket{row: o.Row, trial: o.Trial, job: *known.Job})
		s.progress.End()
		if err := r.close(); err != nil && done.Failure == "" {
			done.Failure = err.Error()
		}
		memory.allow()
		if err := s.say(reply{Trial: &done, Events: done.Events, States: done.States, Shown: done.Shown}); err != nil {
			return err
		}
	}
	return nil
}

type server struct {
	progress *trial.Progress
	orders   chan order

	mu  sync.Mutex
	out *json.Encoder
}

func (s *server) say(r reply) error {
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
		var o order
		err := decoder.Decode(&o)
		switch {
		case err == io.EOF:
			os.Exit(0)
		case err != nil:
			_ = s.say(reply{Last: fmt.Sprintf("it was told what it cannot read: %v", err)})
			os.Exit(1)
		case o.Cancel:
			cancel()
		default:
			if ctx.Err() != nil { // what was called off is over; this is of another run
				ctx, cancel = context.WithCancel(context.Background())
			}
			o.ctx = ctx
			s.orders <- o
		}
	}
}

// beat says how far the trial under way has got.
func (s *server) beat() {
	for range time.Tick(paceEvery) {
		if p, busy := s.progress.Read(); busy {
			_ = s.say(reply{Progress: &p}) // if nobody listens, the input ends as well
		}
	}
}

// watchMemory ends the process when it has too much. No limit of the system's
// does: Go reserves far more than it uses, on every system in another way.
func (s *server) watchMemory() {
	for range time.Tick(memoryEvery) {
		if has := memoryInUse(); has > childMemory {
			_ = s.say(reply{Last: fmt.Sprintf("it had more than %d MB of memory, the most that a trial may take", childMemory>>20)})
			os.Exit(1)
		}
	}
}

// memoryInUse is what the process has of the machine's, in bytes, as far as Go
// knows, and the ballast, of which it has nothing.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
