package suite

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/scenarios"
)

// aQueue has a row of one trial for each letter: b is busy, s is not.
func aQueue(rows string) *queue {
	var jobs []Job
	for _, kind := range rows {
		s := &scenarios.Scenario{}
		if kind == 'b' {
			s.Workload = &scenarios.Workload{}
		}
		jobs = append(jobs, Job{Scenario: s})
	}
	return newQueue(jobs, 1)
}

func (q *queue) mustNext(t require.TestingT) ticket {
	got, more := q.next()
	require.True(t, more)
	return got
}

func TestTicketsComeInTheOrderOfTheRows(t *testing.T) {
	s := &scenarios.Scenario{}
	q := newQueue([]Job{{Scenario: s}, {Scenario: s}}, 2)
	for _, want := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		got := q.mustNext(t)
		require.Equal(t, want, [2]int{got.row, got.trial})
	}
	_, more := q.next()
	require.False(t, more)
}

func TestOthersOvertakeBusyTrials(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	q := aQueue("bbbsbs")
	var rows []int
	for range 4 {
		rows = append(rows, q.mustNext(t).row)
	}
	require.Equal(t, []int{0, 1, 3, 5}, rows)
	q.done(ticket{row: 0, busy: true})
	require.Equal(t, 2, q.mustNext(t).row)
}

func TestQueue_WaitsWhenOnlyBusyTrialsRemain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		q := aQueue("bbb")
		first := q.mustNext(t)
		var second ticket
		var more bool
		go func() { second, more = q.next() }()
		synctest.Wait()
		require.Zero(t, second)
		q.done(first)
		synctest.Wait()
		require.True(t, more)
		require.Equal(t, 1, second.row)
		go func() { _, more = q.next() }()
		synctest.Wait()
		q.close()
		synctest.Wait()
		require.False(t, more, "who waits learns that there is nothing left")
	})
}

// Whatever the rows and however many take tickets, each ticket is handed out once,
// and never are more busy trials under way than there are processors.
func TestEveryTicketIsHandedOutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.StringOfN(rapid.RuneFrom([]rune("bs")), 0, 30, -1).Draw(t, "rows")
		takers := rapid.IntRange(1, 6).Draw(t, "takers")
		q := aQueue(rows)
		var (
			mu   sync.Mutex
			all  sync.WaitGroup
			seen []int
			busy int
			most int
		)
		for range takers {
			all.Go(func() {
				for {
					got, more := q.next()
					if !more {
						return
					}
					mu.Lock()
					seen = append(seen, got.row)
					if got.busy {
						busy++
						most = max(most, busy)
					}
					mu.Unlock()
					runtime.Gosched()
					mu.Lock()
					if got.busy {
						busy--
					}
					mu.Unlock()
					q.done(got)
				}
			})
		}
		all.Wait()
		slices.Sort(seen)
		require.Len(t, seen, len(rows))
		require.Len(t, slices.Compact(seen), len(rows))
		require.LessOrEqual(t, most, runtime.GOMAXPROCS(0))
	})
}
