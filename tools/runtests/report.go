package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/internal/needs"
)

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // in seconds
}

// test names a test, or a package by itself.
type test struct{ pkg, name string }

// packageCost is what a package's tests took; cached that they took it another time.
type packageCost struct {
	pkg    string
	took   time.Duration
	cached bool
}

// report counts the tests, shows packages as they end and tests as they fail.
type report struct {
	mu                      sync.Mutex // of add, which several runs of go test call
	out                     io.Writer
	output                  map[test]*strings.Builder // of those that have not ended
	passed, failed, skipped int
	broken                  []string // packages whose tests failed, or were not built
	lacking                 map[needs.Need]int
	spent                   []packageCost
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[test]*strings.Builder{}, lacking: map[needs.Need]int{}}
}

// add takes an event in.
func (r *report) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch t := (test{e.Package, e.Test}); e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if r.output[t] == nil {
			r.output[t] = &strings.Builder{}
		}
		r.output[t].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e.Action, t)
		}
	}
}

func (r *report) endTest(action string, t test) {
	said := r.take(t)
	switch action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		fmt.Fprintf(r.out, "FAIL %s %s\n%s", t.pkg, t.name, said)
	case "skip":
		r.skipped++
		n, _ := needs.ParseSkip(said)
		r.lacking[n]++
	}
}

// take gives what a test has said, and forgets it.
func (r *report) take(t test) (said string) {
	if r.output[t] != nil {
		said = r.output[t].String()
	}
	delete(r.output, t)
	return said
}

func (r *report) endPackage(e event) {
	said := r.take(test{pkg: e.Package})
	if e.Action == "skip" {
		return // it has no tests
	}
	s := packageCost{e.Package, time.Duration(e.Elapsed * float64(time.Second)), strings.Contains(said, "\t(cached)")}
	r.spent = append(r.spent, s)
	if e.Action == "fail" {
		r.broken = append(r.broken, e.Package)
		r.unfinished(e.Package)
		fmt.Fprint(r.out, said)
		return
	}
	fmt.Fprintf(r.out, "ok   %s (%s)\n", s.pkg, s)
}

// unfinished shows what tests were about when their package came to an end.
func (r *report) unfinished(pkg string) {
	for t := range r.output {
		if t.pkg == pkg {
			r.failed++
			fmt.Fprintf(r.out, "FAIL %s %s did not end\n%s", t.pkg, t.name, r.take(t))
		}
	}
}

func (s packageCost) String() string {
	if s.cached {
		return "cached"
	}
	return fmt.Sprintf("%.1fs", s.took.Seconds())
}

// costs shows what each package costs, the dearest first.
func (r *report) costs() {
	slices.SortFunc(r.spent,
		func(a, b packageCost) int { return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.pkg, b.pkg)) })
	var sum time.Duration
	fmt.Fprintln(r.out, "\nwhat each package costs, without its building:")
	for _, s := range r.spent {
		fmt.Fprintf(r.out, "%8s  %s\n", s, s.pkg)
		sum += s.took
	}
	fmt.Fprintf(r.out, "%7.1fs  in all\n", sum.Seconds())
}

// summary says how many tests there were, and what brings those that were
// skipped, once for each reason.
func (r *report) summary(took time.Duration) {
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped in %s\n", r.passed, r.failed, r.skipped,
		took.Round(time.Second))
	if len(r.broken) > 0 {
		fmt.Fprintf(r.out, "failed: %s\n", strings.Join(r.broken, ", "))
	}
	for _, n := range needs.All {
		count := r.lacking[n]
		switch {
		case count > 0 && n.How == "":
			fmt.Fprintf(r.out, "skipped: %d for want of %s\n", count, n.What)
		case count > 0:
			fmt.Fprintf(r.out, "skipped: %d for want of %s: run `%s`\n", count, n.What, n.How)
		}
	}
	if count := r.lacking[needs.Need{}]; count > 0 {
		fmt.Fprintf(r.out, "skipped: %d for reasons of their own\n", count)
	}
}
