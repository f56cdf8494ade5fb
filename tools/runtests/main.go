package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/internal/needs"
)

func main() {
	cost := flag.Bool("cost", false, "list the time of each package at the end")
	flags := flag.String("flags", "", "flags of go test, separated by blanks")
	share := flag.String("part", "1/1", "run every n-th package only, the i-th of n parts: i/n")
	modules := flag.String("modules", ".", "folders of the modules to test, separated by blanks")
	flag.Parse()
	r := newReport(os.Stdout)
	began := time.Now()
	err := runAll(r, strings.Fields(*flags), *share, strings.Fields(*modules), flag.Args())
	if *cost {
		r.costs()
	}
	r.summary(time.Since(began))
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		os.Exit(ended.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// realTime are folders of packages whose tests wait in real time for other processes: more than two at once would delay
// each other.
var realTime = []string{"bench", "cmd", "harness", "nemesis", "redlock", "validate"}

const root = "example.org/lockproof/"

// waitsInRealTime reports whether a package is in realTime. Tests of virtual time, histories and single links wait for
// no process.
func waitsInRealTime(name string) bool {
	quick := []string{"harness/cluster/virtual", "harness/history", "harness/locks", "harness/locktest"}
	below := func(folder string) bool { return strings.HasPrefix(name+"/", root+folder+"/") }
	return slices.ContainsFunc(realTime, below) && !slices.ContainsFunc(quick, below)
}

// enginePackages wait mostly for a Docker engine.
var enginePackages = []string{root + "harness/cluster/docker", root + "cmd/lockproof"}

// busyTests match tests that keep processors busy, in packages that otherwise wait in real time. They run with the busy
// packages.
var busyTests = map[string]string{
	root + "cmd/lockproof": "^(TestConfigurations|TestAction_Runs|TestTheDocumentsShowWhatTheCommandsPrint|" +
		"TestHostileFiles|TestGoTest_.*)$",
	root + "harness/suite": "^(TestCatalogueInVirtualTime|TestCatalogueAtOtherTTLs|" +
		"TestSameSeedSameHistory|TestFormsForOneNode)$",
}

// listed is a package and its module's folder.
type listed struct{ module, name string }

// call is a call of go test in a module, with extra flags.
type call struct {
	module          string
	flags, packages []string
	part            string // a suffix of the packages' names in the report, if another call has the same package
}

// add adds a package to the last call, or to a new one if that has another module.
func add(calls []call, p listed) []call {
	if last := len(calls) - 1; last >= 0 && calls[last].module == p.module {
		calls[last].packages = append(calls[last].packages, p.name)
		return calls
	}
	return append(calls, call{module: p.module, packages: []string{p.name}})
}

// groupCalls returns the calls for packages that wait for an engine, for others that wait, the longest first, for busy
// packages, and for the busy tests of those that wait. If the flags select tests, no package is split.
func groupCalls(packages []listed, flags []string) (engine, serial, parallel, busy []call) {
	chosen := slices.ContainsFunc(flags, func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "run" || name == "skip"
	})
	for _, p := range packages {
		c, tests := call{module: p.module, packages: []string{p.name}}, busyTests[p.name]
		split := tests != "" && !chosen
		if split {
			busy = append(busy, call{p.module, []string{"-run", tests}, c.packages, ", the busy ones"})
			c.flags = []string{"-skip", tests}
		}
		switch {
		case !waitsInRealTime(p.name):
			parallel = add(parallel, p)
		case slices.Contains(enginePackages, p.name):
			engine = append(engine, c)
		case split:
			serial = slices.Insert(serial, 0, c)
		default:
			serial = append(serial, c)
		}
	}
	return engine, serial, parallel, busy
}

// list returns the packages of modules that patterns match.
func list(modules, patterns []string) (packages []listed, err error) {
	for _, module := range modules {
		cmd := exec.Command("go", append([]string{"-C", module, "list"}, patterns...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(string(out)) {
			packages = append(packages, listed{module, name})
		}
	}
	return packages, nil
}

// runAll runs the tests of one part of the modules' packages. Packages that wait in real time run two at a time, one of
// them with an engine while such remain. Busy packages run in parallel with them, at a low priority, and whoever is
// done runs busy tests of the packages that wait. With -short no package waits, and all run in parallel. The error is
// that of go test.
func runAll(r *report, flags []string, share string, modules, patterns []string) error {
	all, err := list(modules, patterns)
	if err != nil {
		return err
	}
	packages, err := selectPart(all, share)
	if err != nil {
		return err
	}
	os.Setenv(needs.MachineVariable, fingerprint(context.Background()))
	run := func(before []string, atOnce int, calls <-chan call) (err error) {
		for c := range calls {
			err = errors.Join(err, runCall(r, before, atOnce, flags, c))
		}
		return err
	}
	if slices.Contains(flags, "-short") {
		var calls []call
		for _, p := range packages {
			calls = add(calls, p)
		}
		return run(nil, runtime.GOMAXPROCS(0), queue(calls))
	}
	var running sync.WaitGroup
	var ended [3]error
	engine, serial, parallel, others := groupCalls(packages, flags)
	waiting, busy := queue(serial), queue(others)
	runBusy := func(calls <-chan call) error { return run(lowPriority(), runtime.GOMAXPROCS(0), calls) }
	running.Go(func() { ended[0] = errors.Join(run(nil, 1, queue(engine)), run(nil, 1, waiting), runBusy(busy)) })
	running.Go(func() { ended[1] = errors.Join(run(nil, 1, waiting), runBusy(busy)) })
	running.Go(func() { ended[2] = errors.Join(runBusy(queue(parallel)), runBusy(busy)) })
	running.Wait()
	return errors.Join(ended[:]...)
}

func queue(calls []call) <-chan call {
	all := make(chan call, len(calls))
	for _, c := range calls {
		all <- c
	}
	close(all)
	return all
}

// selectPart returns the packages of a part; for "2/3" every third, beginning with the second.
func selectPart(packages []listed, share string) ([]listed, error) {
	var index, count int
	if n, err := fmt.Sscanf(share, "%d/%d", &index, &count); n != 2 || err != nil || index < 1 || index > count {
		return nil, fmt.Errorf("invalid part %q: want INDEX/COUNT, for example 2/3", share)
	}
	var selected []listed
	for i, p := range packages {
		if i%count == index-1 {
			selected = append(selected, p)
		}
	}
	return selected, nil
}

// lowPriority is a command's prefix for a low priority, nil if the system has none.
func lowPriority() []string {
	if _, err := exec.LookPath("nice"); err != nil {
		return nil
	}
	return []string{"nice", "-n", "10"}
}

// runCall runs the tests of a call's packages in order, atOnce at a time; before is the command's prefix.
func runCall(r *report, before []string, atOnce int, flags []string, c call) error {
	args := slices.Concat(before, []string{"go", "-C", c.module, "test", "-json", "-p", strconv.Itoa(atOnce)}, flags,
		c.flags, c.packages)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = follow(events, r, c.part)
	return errors.Join(cmd.Wait(), err)
}

// follow adds the lines of `go test -json` to the report. Any other line is an error, which shows it.
func follow(lines io.Reader, r *report, part string) error {
	decoder := json.NewDecoder(lines)
	for {
		var e event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			var rest bytes.Buffer
			_, _ = io.Copy(&rest, io.MultiReader(decoder.Buffered(), lines))
			return fmt.Errorf("go test -json: %w: %s", err, &rest)
		}
		e.Package += part
		r.add(e)
	}
}
