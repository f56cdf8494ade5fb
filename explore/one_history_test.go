package explore

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
	trials "example.org/lockproof/harness/trial"
	"example.org/lockproof/scenarios"
)

// grid is the unit of all delays in a coarse trial, so that most events share their instant with another.
const grid = 100 * time.Microsecond

// gridRuns is the number of runs of each schedule.
const gridRuns = 6

// A schedule gives one history even if most events share their instant with others and the processors are busy: the
// scheduler decides the order, not the delays. LOCKPROOF_SCHEDULES is the number of schedules for each lock, 1000 for
// the figures of docs/trust.md.
func TestOneHistory_CoarseDelays(t *testing.T) {
	schedules := 12
	if n, err := strconv.Atoi(os.Getenv("LOCKPROOF_SCHEDULES")); err == nil {
		schedules = n
	}
	defer burn(2)()
	for _, lock := range []struct{ name, without string }{
		{"redlock", ""}, {"redsync", ""}, {"single", ""}, {"redlock", "Majority"}, {"redlock", "NodeTimeout"},
		{"redlock", "ReleaseEverywhere"}, {"redlock", "CompareAndDelete"}, {"redlock", "FreshToken"},
	} {
		t.Run(strings.TrimSpace(lock.name+" "+lock.without), func(t *testing.T) {
			s := space(t, func(s *Space) {
				// Not Servers: redlock refuses a list with one server twice, and then nothing happens.
				s.Lock, s.Break = lock.name, []Assumption{Memory, Clocks, Pauses}
				if lock.without != "" {
					s.Without = []string{lock.without}
				}
			})
			compareRuns(t, &s, schedules)
		})
	}
}

// burn runs busy goroutines until stop.
func burn(goroutines int) (stop func()) {
	done := make(chan struct{})
	for range goroutines {
		go func() {
			for over := false; !over; {
				for i := 0; i < 1<<16; i++ {
				}
				runtime.Gosched()
				select {
				case <-done:
					over = true
				default:
				}
			}
		}()
	}
	return func() { close(done) }
}

// compareRuns runs each schedule several times, mixed with others in a random order.
func compareRuns(t *testing.T, s *Space, schedules int) {
	var runs []uint64
	for range gridRuns {
		for seed := range schedules {
			runs = append(runs, uint64(seed))
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	var mu sync.Mutex
	first := map[uint64][]history.Event{}
	differ := map[uint64]bool{}
	var all errgroup.Group
	all.SetLimit(4)
	for _, seed := range runs {
		all.Go(func() error {
			events, err := coarseHistory(s, seed)
			mu.Lock()
			defer mu.Unlock()
			if before := first[seed]; before == nil {
				first[seed] = events
			} else if !reflect.DeepEqual(before, events) && !differ[seed] {
				differ[seed] = true
				t.Errorf("schedule %d has two histories, which differ at %s", seed, difference(before, events))
			}
			return err
		})
	}
	require.NoError(t, all.Wait())
	t.Logf("%d schedules, %d with more than one history", schedules, len(differ))
	requireContention(t, first)
}

// requireContention requires that the schedules test order: clients are granted the lock and contend for it, and many
// events share their instant with another process's.
func requireContention(t *testing.T, histories map[uint64][]history.Event) {
	var granted, contended, events, shared int
	for seed, h := range histories {
		verdict, err := checker.Judge(checker.InMemory(h))
		require.NoError(t, err, "schedule %d", seed)
		for _, r := range verdict.Results {
			if r.Property == checker.MutualExclusion && r.Measured["grants"] > 0 {
				granted++
				contended += int(min(1, r.Measured["contended"]))
			}
		}
		events += len(h)
		for i, e := range h {
			if i > 0 && h[i-1].Time == e.Time && h[i-1].Process != e.Process || i+1 < len(h) && h[i+1].Time == e.Time &&
				h[i+1].Process != e.Process {
				shared++
			}
		}
	}
	t.Logf("%d with grants, %d of them contended; %d of %d events share their instant", granted, contended, shared, events)
	require.Greater(t, granted, len(histories)*9/10)
	require.Greater(t, contended, len(histories)/2)
	require.Greater(t, shared, events/5)
}

func difference(a, b []history.Event) string {
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			return eventText(a[i]) + "\nand " + eventText(b[i])
		}
	}
	return "their ends"
}

func eventText(e history.Event) string {
	var text strings.Builder
	w := history.NewWriter(&text)
	w.Write(e)
	_ = w.Close() // a strings.Builder returns no errors
	return text.String()
}

// coarseHistory runs a schedule whose delays are all multiples of the grid.
func coarseHistory(s *Space, seed uint64) ([]history.Event, error) {
	job := s.job(s.Draw(seed))
	coarsen(reflect.ValueOf(job.Scenario).Elem())
	job.Scenario.Lock.RetryMin = scenarios.Span{Fixed: 40 * time.Millisecond}
	job.Scenario.Lock.RetryMax = job.Scenario.Lock.RetryMin
	plan, err := trials.NewPlan(job, virtual.Kind, cluster.Choice{}, 0)
	if err != nil {
		return nil, err
	}
	maker, err := virtual.Kind.Open(context.Background(), cluster.Choice{}, io.Discard)
	if err != nil {
		return nil, err
	}
	j, err := trials.NewJournal(trials.JournalOptions{Virtual: true})
	if err != nil {
		return nil, err
	}
	if _, err := trials.Run(context.Background(), plan, gridMaker{maker}, 0, seed, j); err != nil {
		return nil, err
	}
	events, err := j.ShortHistory()
	return events, errors.Join(err, j.End())
}

type gridMaker struct{ cluster.Maker }

func (m gridMaker) New(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
	cfg.Grid = grid
	return m.Maker.New(ctx, cfg)
}

// coarsen rounds all durations inside a value up to the grid.
func coarsen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			coarsen(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			coarsen(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			coarsen(v.Index(i))
		}
	case reflect.Int64:
		if !v.CanSet() {
			return
		}
		if d, ok := v.Interface().(time.Duration); ok {
			v.SetInt(int64((d + grid - 1).Truncate(grid)))
		}
	}
}
