package checking

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anishathalye/porcupine"

	"example.org/lockproof/bench/figures"
	"example.org/lockproof/bench/memory"
	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

const rounds = 3

// The sizes of histories, and the largest that porcupine gets in one piece: its time grows with the square.
var (
	sizes     = []int{1_000, 10_000, 100_000, 1_000_000}
	wholeUpTo = 10_000
	// The largest history with the commands of five nodes, twenty events for each lease, that is judged in each round;
	// a larger one takes a minute, and is judged once.
	nodesEachRoundUpTo = 100_000
)

// Measure judges histories of all sizes, with and without a violation, in interleaved rounds.
func Measure(ctx context.Context, say func(format string, args ...any)) ([]figures.Section, error) {
	measured := map[string][]float64{}
	for round := range rounds {
		for _, n := range sizes {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			say("checker: round %d of %d, %d leases", round+1, rounds, n)
			if err := measure(n, measured); err != nil {
				return nil, err
			}
			if round == 0 || n <= nodesEachRoundUpTo {
				if err := measureOnNodes(n, measured); err != nil {
					return nil, err
				}
			}
		}
	}
	return []figures.Section{section(measured)}, nil
}

func name(n int, what string) string { return fmt.Sprint(n, " ", what) }

// expected is the verdict on mutual exclusion for a Crowd.
func expected(overlap bool) string {
	if overlap {
		return history.Violated
	}
	return history.Holds
}

func measure(n int, measured map[string][]float64) error {
	add := func(what string, v float64) { measured[name(n, what)] = append(measured[name(n, what)], v) }
	for _, overlap := range []bool{false, true} {
		want := expected(overlap)
		peak := memory.Watch()
		began := time.Now()
		verdict, err := checker.Judge(Crowd(n, overlap))
		took := time.Since(began).Seconds()
		if err != nil {
			return err
		}
		if got := verdict.Of(checker.MutualExclusion); got.Verdict != want {
			return fmt.Errorf("%d leases: the verdict is %s %s, not %s", n, got.Verdict, got.Reason, want)
		}
		add(want, took)
		if !overlap {
			add("lease", took/float64(n))
			if bytes, ok := peak(); ok {
				add("peak", float64(bytes))
			}
		}
	}
	if n <= wholeUpTo {
		began := time.Now()
		if got := whole(n); got != porcupine.Ok {
			return fmt.Errorf("%d leases: porcupine in one piece says %s", n, got)
		}
		add("one piece", time.Since(began).Seconds())
	}
	return nil
}

// measureOnNodes judges a history with the commands and replies of five nodes.
func measureOnNodes(n int, measured map[string][]float64) error {
	peak := memory.Watch()
	began := time.Now()
	verdict, err := checker.Judge(CrowdOnNodes(n))
	took := time.Since(began).Seconds()
	if err != nil {
		return err
	}
	if verdict.Traffic.Count > 0 {
		return fmt.Errorf("%d leases: %s", n, verdict.Traffic.Findings[0])
	}
	measured[name(n, "on nodes")] = append(measured[name(n, "on nodes")], took)
	if bytes, ok := peak(); ok {
		measured[name(n, "peak on nodes")] = append(measured[name(n, "peak on nodes")], float64(bytes))
	}
	return nil
}

// whole gives porcupine n successive leases of one key, in one piece and in random order.
func whole(n int) porcupine.CheckResult {
	mutex := porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, _ any) (bool, any) {
			owner, op := state.(int), input.(int)
			if op > 0 {
				return owner == 0, op
			}
			return owner == -op, 0
		},
	}
	var operations []porcupine.Operation
	for i := range n {
		taken, given := int64(i)*interval+granted, int64(i)*interval+released
		operations = append(operations, porcupine.Operation{Input: i + 1, Call: taken, Return: taken},
			porcupine.Operation{Input: -i - 1, Call: given, Return: given})
	}
	rand.Shuffle(len(operations), func(i, j int) { operations[i], operations[j] = operations[j], operations[i] })
	return porcupine.CheckOperationsTimeout(mutex, operations, time.Minute)
}

func section(measured map[string][]float64) figures.Section {
	s := figures.Section{
		Name: "checker", Title: "The checker: leases over 100 keys by 10 clients, all properties, both oracles",
		Notes: []string{"on nodes: with all that five nodes were asked and answered, each key on each node judged as " +
			"a register",
			"one piece: porcupine alone, as many leases of one key, not cut at quiescent points"},
	}
	for _, n := range sizes {
		row := figures.Row{Name: fmt.Sprint(n, " leases")}
		for _, c := range []struct {
			what string
			unit figures.Unit
		}{{history.Holds, figures.Seconds}, {history.Violated, figures.Seconds}, {"lease", figures.Seconds},
			{"peak", figures.Bytes}, {"on nodes", figures.Seconds}, {"peak on nodes", figures.Bytes},
			{"one piece", figures.Seconds}} {
			if rounds := measured[name(n, c.what)]; len(rounds) > 0 {
				row.Figures = append(row.Figures, figures.Of(c.what, c.unit, rounds...))
			}
		}
		s.Rows = append(s.Rows, row)
	}
	last := s.Rows[len(s.Rows)-1]
	s.Targets = append(s.Targets,
		figures.AtMost("a million leases, no violation", last.Figure(history.Holds), 2),
		figures.AtMost("a million leases, a violation", last.Figure(history.Violated), 2))
	if len(measured[name(sizes[len(sizes)-1], "peak")]) > 0 {
		s.Targets = append(s.Targets, figures.AtMost("a million leases, memory", last.Figure("peak"), 1<<30))
	}
	for i := 1; i < len(s.Rows); i++ {
		growth := figures.Ratios("growth", s.Rows[i].Figure(history.Holds), s.Rows[i-1].Figure(history.Holds))
		s.Targets = append(s.Targets, figures.AtMost(s.Rows[i].Name+", time to a tenth of them", growth, 12))
		growth = figures.Ratios("growth", s.Rows[i].Figure("on nodes"), s.Rows[i-1].Figure("on nodes"))
		s.Targets = append(s.Targets, figures.AtMost(s.Rows[i].Name+" on nodes, time to a tenth of them", growth, 12))
	}
	return s
}
