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

// test identifies a test, or a package if name is empty.
type test struct{ pkg, name string }

// packageCost is the time of a package's tests; if cached, of an earlier run.
type packageCost struct {
	pkg    string
	took   time.Duration
	cached bool
}

// report counts tests, and prints packages as they end and tests as they fail.
type report struct {
	mu                      sync.Mutex // of add, which several runs of go test call
	out                     io.Writer
	output                  map[test]*strings.Builder // of running tests
	passed, failed, skipped int
	failedPackages          []string // also those that did not build
	missing                 map[needs.Need]int
	packageCosts            []packageCost
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[test]*strings.Builder{}, missing: map[needs.Need]int{}}
}

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
	output := r.takeOutput(t)
	switch action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		fmt.Fprintf(r.out, "FAIL %s %s\n%s", t.pkg, t.name, output)
	case "skip":
		r.skipped++
		n, _ := needs.ParseSkip(output)
		r.missing[n]++
	}
}

// takeOutput returns a test's output and deletes it.
func (r *report) takeOutput(t test) (output string) {
	if r.output[t] != nil {
		output = r.output[t].String()
	}
	delete(r.output, t)
	return output
}

func (r *report) endPackage(e event) {
	output := r.takeOutput(test{pkg: e.Package})
	if e.Action == "skip" {
		return // a package without tests
	}
	s := packageCost{e.Package, time.Duration(e.Elapsed * float64(time.Second)), strings.Contains(output, "\t(cached)")}
	r.packageCosts = append(r.packageCosts, s)
	if e.Action == "fail" {
		r.failedPackages = append(r.failedPackages, e.Package)
		r.addUnfinished(e.Package)
		fmt.Fprint(r.out, output)
		return
	}
	fmt.Fprintf(r.out, "ok   %s (%s)\n", s.pkg, s)
}

// addUnfinished counts and prints the running tests of a package that ended.
func (r *report) addUnfinished(pkg string) {
	for t := range r.output {
		if t.pkg == pkg {
			r.failed++
			fmt.Fprintf(r.out, "FAIL %s %s did not end\n%s", t.pkg, t.name, r.takeOutput(t))
		}
	}
}

func (s packageCost) String() string {
	if s.cached {
		return "cached"
	}
	return fmt.Sprintf("%.1fs", s.took.Seconds())
}

// costs prints the time of each package, the longest first.
func (r *report) costs() {
	slices.SortFunc(r.packageCosts,
		func(a, b packageCost) int { return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.pkg, b.pkg)) })
	var sum time.Duration
	fmt.Fprintln(r.out, "\ntime of each package, without its build:")
	for _, s := range r.packageCosts {
		fmt.Fprintf(r.out, "%8s  %s\n", s, s.pkg)
		sum += s.took
	}
	fmt.Fprintf(r.out, "%7.1fs  in all\n", sum.Seconds())
}

// summary prints the counts of tests, and for each reason of a skip the command that removes it.
func (r *report) summary(took time.Duration) {
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped in %s\n", r.passed, r.failed, r.skipped,
		took.Round(time.Second))
	if len(r.failedPackages) > 0 {
		fmt.Fprintf(r.out, "failed: %s\n", strings.Join(r.failedPackages, ", "))
	}
	for _, n := range needs.All {
		count := r.missing[n]
		switch {
		case count > 0 && n.How == "":
			fmt.Fprintf(r.out, "skipped: %d for want of %s\n", count, n.What)
		case count > 0:
			fmt.Fprintf(r.out, "skipped: %d for want of %s: run `%s`\n", count, n.What, n.How)
		}
	}
	if count := r.missing[needs.Need{}]; count > 0 {
		fmt.Fprintf(r.out, "skipped: %d for reasons of their own\n", count)
	}
}
