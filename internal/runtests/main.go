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
	flag.Parse()
	r := newReport(os.Stdout)
	began := time.Now()
	err := runAll(r, strings.Fields(*flags), *share, flag.Args())
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

// shareOut parts packages into those that wait for an engine, the others that wait, and those
// that keep processors busy.
func shareOut(packages []string) (engine, others, busy []string) {
	for _, name := range packages {
		switch {
		case !splitRealTime(name):
			busy = append(busy, name)
		case slices.Contains(withEngine, name):
			engine = append(engine, name)
		default:
			others = append(others, name)
		}
	}
	return engine, others, busy
}

// runAll runs the tests of one part of the packages that the patterns name. The error is
// that of go test. Packages that wait in real time run two at a time, one of them with an
// engine, and those that keep processors busy beside them, on what they leave. With -short
// none waits, and all run side by side.
func runAll(r *report, flags []string, share string, patterns []string) error {
	list := exec.Command("go", append([]string{"list"}, patterns...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return err
	}
	packages, err := selectPart(strings.Fields(string(out)), share)
	if err != nil {
		return err
	}
	os.Setenv(needs.MachineVariable, fingerprint(context.Background()))
	if slices.Contains(flags, "-short") {
		return runSome(r, nil, runtime.GOMAXPROCS(0), flags, packages)
	}
	var lanes sync.WaitGroup
	var ended [3]error
	engine, others, busy := shareOut(packages)
	lanes.Go(func() { ended[0] = runSome(r, nil, 1, flags, engine) })
	lanes.Go(func() { ended[1] = runSome(r, nil, 1, flags, others) })
	lanes.Go(func() { ended[2] = runSome(r, lowPriority(), runtime.GOMAXPROCS(0), flags, busy) })
	lanes.Wait()
	return errors.Join(ended[:]...)
}

// selectPart returns the packages of one part, "2/3" say: every third from the second on.
func selectPart(packages []string, share string) ([]string, error) {
	var index, count int
	if n, err := fmt.Sscanf(share, "%d/%d", &index, &count); n != 2 || err != nil || index < 1 || index > count {
		return nil, fmt.Errorf("invalid part %q: want INDEX/COUNT, for example 2/3", share)
	}
	var selected []string
	for i, name := range packages {
		if i%count == index-1 {
			selected = append(selected, name)
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

// runSome runs the tests of packages, in their order, so many at a time; before stands before
// the command.
func runSome(r *report, before []string, atOnce int, flags, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	args := slices.Concat(before, []string{"go", "test", "-json", "-p", strconv.Itoa(atOnce)}, flags, packages)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = follow(events, r)
	return errors.Join(cmd.Wait(), err)
}

// follow hands the lines of `go test -json` to the report, and shows what is no such line.
func follow(lines io.Reader, r *report) error {
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
		r.add(e)
	}
}
