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

	"lockproof/internal/needs"
)

func main() {
	cost := flag.Bool("cost", false, "say last what each package costs")
	flags := flag.String("flags", "", "flags of go test, parted by blanks")
	flag.Parse()
	r := newReport(os.Stdout)
	began := time.Now()
	err := runAll(r, strings.Fields(*flags), flag.Args())
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
// time for what others do: they must not hold each other up.
var realTime = []string{
	"lockproof/bench", "lockproof/cmd", "lockproof/harness", "lockproof/nemesis", "lockproof/redlock", "lockproof/validate",
}

// inRealTime says whether a package is one of them. Those about virtual time,
// histories and single links are quick, and depend on nobody.
func inRealTime(name string) bool {
	quick := []string{"lockproof/harness/cluster/virtual", "lockproof/harness/history", "lockproof/harness/locks"}
	below := func(folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }
	return slices.ContainsFunc(realTime, below) && !slices.ContainsFunc(quick, below)
}

// imageFirst is the package that makes the docker cluster's image, which the others
// find then: it takes a minute or two.
const imageFirst = "lockproof/harness/cluster/docker"

// runAll runs the tests of the packages that the patterns name. The error is that
// of go test. Those that wait in real time run one by one, and those that keep
// processors busy beside them, on what they leave.
func runAll(r *report, flags, patterns []string) error {
	list := exec.Command("go", append([]string{"list"}, patterns...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return err
	}
	waiting, busy := part(strings.Fields(string(out)))
	os.Setenv(needs.MachineVariable, fingerprint(context.Background()))
	var lanes sync.WaitGroup
	var ended [2]error
	lanes.Go(func() { ended[0] = runSome(r, nil, 1, flags, waiting) })
	lanes.Go(func() { ended[1] = runSome(r, yielding(), max(1, runtime.GOMAXPROCS(0)-1), flags, busy) })
	lanes.Wait()
	return errors.Join(ended[:]...)
}

// part parts packages into those that wait in real time, in the order in which
// they run, and the others.
func part(packages []string) (waiting, busy []string) {
	for _, name := range packages {
		switch {
		case name == imageFirst:
			waiting = slices.Insert(waiting, 0, name)
		case inRealTime(name):
			waiting = append(waiting, name)
		default:
			busy = append(busy, name)
		}
	}
	return waiting, busy
}

// yielding is the beginning of a command that leaves the processors to others
// that want them, where the system has one.
func yielding() []string {
	if _, err := exec.LookPath("nice"); err != nil {
		return nil
	}
	return []string{"nice", "-n", "10"}
}

// runSome runs the tests of packages, in their order, so many at a time; before
// stands before the command.
func runSome(r *report, before []string, beside int, flags, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	args := slices.Concat(before, []string{"go", "test", "-json", "-p", strconv.Itoa(beside)}, flags, packages)
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

// follow hands the lines of `go test -json` to the report, and shows what is no
// such line.
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
