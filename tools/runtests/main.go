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
	cost := flag.Bool("cost", false, "say last what each package costs")
	flags := flag.String("flags", "", "flags of go test, parted by blanks")
	share := flag.String("part", "1/1", "run every n-th package only, the i-th of n parts: i/n")
	modules := flag.String("modules", ".", "folders of the modules whose packages are meant, parted by blanks")
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

// realTime are the packages, with those below them, whose tests wait in real
// time for what others do: more than two of them would hold each other up.
var realTime = []string{"bench", "cmd", "harness", "nemesis", "redlock", "validate"}

// root is how the path of each package begins.
const root = "example.org/lockproof/"

// splitRealTime says whether a package is one of them. Those about virtual time, histories and single links depend on
// nobody.
func splitRealTime(name string) bool {
	quick := []string{"harness/cluster/virtual", "harness/history", "harness/locks", "harness/locktest"}
	below := func(folder string) bool { return strings.HasPrefix(name+"/", root+folder+"/") }
	return slices.ContainsFunc(realTime, below) && !slices.ContainsFunc(quick, below)
}

// withEngine are the packages that wait most of their time for a Docker engine.
var withEngine = []string{root + "harness/cluster/docker", root + "cmd/lockproof"}

// busyTests match the tests of a package that waits in real time which do not wait
// themselves, but keep processors busy: they run with the packages that do.
var busyTests = map[string]string{
	root + "cmd/lockproof": "^(TestConfigurations|TestAction_Runs|TestTheDocumentsShowWhatTheCommandsPrint|" +
		"TestHostileFiles|TestGoTest_.*)$",
	root + "harness/suite": "^(TestCatalogueInVirtualTime|TestCatalogueAtOtherTTLs|" +
		"TestSameSeedSameHistory|TestFormsForOneNode)$",
}

// listed is a package, and the folder of its module.
type listed struct{ module, name string }

// call is a call of go test in a module: what it adds to the flags, the packages, and what
// the report adds to their names, as another call may be about the same.
type call struct {
	module          string
	flags, packages []string
	part            string
}

// add adds a package to calls: to the last, if that is of its module.
func add(calls []call, p listed) []call {
	if last := len(calls) - 1; last >= 0 && calls[last].module == p.module {
		calls[last].packages = append(calls[last].packages, p.name)
		return calls
	}
	return append(calls, call{module: p.module, packages: []string{p.name}})
}

// shareOut gives the calls for the packages that wait for an engine, for the others that wait, those that
// take longest first, and for those that keep processors busy. Flags that choose tests themselves are left alone.
func shareOut(packages []listed, flags []string) (engine, others, beside []call) {
	chosen := slices.ContainsFunc(flags, func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "run" || name == "skip"
	})
	var busy []call
	for _, p := range packages {
		c, tests := call{module: p.module, packages: []string{p.name}}, busyTests[p.name]
		split := tests != "" && !chosen
		if split {
			busy = append(busy, call{p.module, []string{"-run", tests}, c.packages, ", the busy ones"})
			c.flags = []string{"-skip", tests}
		}
		switch {
		case !splitRealTime(p.name):
			beside = add(beside, p)
		case slices.Contains(withEngine, p.name):
			engine = append(engine, c)
		case split:
			others = slices.Insert(others, 0, c)
		default:
			others = append(others, c)
		}
	}
	return engine, others, append(beside, busy...)
}

// list gives the packages of some modules that patterns name.
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

// runAll runs the tests of one part of the packages of some modules that the patterns name.
// The error is that of go test. Packages that wait in real time run two at a time, one of them
// with an engine as long as there are such, and those that keep processors busy beside them, on
// what they leave. With -short none waits, and all run side by side.
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
			err = errors.Join(err, runSome(r, before, atOnce, flags, c))
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
	var lanes sync.WaitGroup
	var ended [3]error
	engine, others, beside := shareOut(packages, flags)
	waiting := queue(others)
	lanes.Go(func() { ended[0] = errors.Join(run(nil, 1, queue(engine)), run(nil, 1, waiting)) })
	lanes.Go(func() { ended[1] = run(nil, 1, waiting) })
	lanes.Go(func() { ended[2] = run(lowPriority(), runtime.GOMAXPROCS(0), queue(beside)) })
	lanes.Wait()
	return errors.Join(ended[:]...)
}

// queue hands calls out one by one.
func queue(calls []call) <-chan call {
	all := make(chan call, len(calls))
	for _, c := range calls {
		all <- c
	}
	close(all)
	return all
}

// selectPart returns the packages of one part, "2/3" say: every third from the second on.
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

// lowPriority is the beginning of a command that leaves the processors to others
// that want them, where the system has one.
func lowPriority() []string {
	if _, err := exec.LookPath("nice"); err != nil {
		return nil
	}
	return []string{"nice", "-n", "10"}
}

// runSome runs the tests of a call's packages, in their order, so many at a time; before
// stands before the command.
func runSome(r *report, before []string, atOnce int, flags []string, c call) error {
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

// follow hands the lines of `go test -json` to the report, and shows what is no
// such line. part is added to the packages' names.
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
