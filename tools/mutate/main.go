package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	c := config{out: os.Stdout}
	files := flag.String("files", ".", "only edits of files whose names match this")
	again := flag.String("again", "", "only edits that this file, an earlier output, lists")
	names := flag.String("tests", ".", "only tests whose names match this")
	flag.IntVar(&c.workers, "workers", runtime.NumCPU(), "edits that are tried at once")
	flag.StringVar(&c.page, "known", "tools/mutate/equivalent.md", "the page whose tables list edits that change nothing")
	flag.Parse()
	if err := run(c, *files, *names, *again, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// config selects the edits and the way to run them.
type config struct {
	files   *regexp.Regexp
	tests   *regexp.Regexp
	again   string // an earlier output, "" for none
	page    string
	workers int
	out     io.Writer
}

func run(c config, files, names, again string, patterns []string) error {
	var err error
	if c.tests, err = regexp.Compile(names); err != nil {
		return err
	}
	if c.files, err = regexp.Compile(files); err != nil {
		return err
	}
	if again != "" {
		earlier, err := os.ReadFile(again)
		if err != nil {
			return err
		}
		c.again = string(earlier)
	}
	for _, pattern := range patterns {
		if err := c.mutate(pattern); err != nil {
			return err
		}
	}
	return nil
}

func (c config) has(e edit) bool {
	return c.files.MatchString(filepath.Base(e.position.Filename)) &&
		(c.again == "" || strings.Contains(c.again, ": "+e.String()))
}

// quick is the longest time of a test that runs first.
const quick = 500 * time.Millisecond

type test struct {
	name    string
	took    time.Duration // processor time
	reaches map[int]bool
}

// outcome is the result of an edit.
type outcome string

const (
	notCovered outcome = "not reached"
	killed     outcome = "noticed"
	timedOut   outcome = "noticed: no end" // a test ran for much longer than usual
	survived   outcome = "live"
)

// mutate tries the edits of a package and prints the unnoticed ones with their number.
func (c config) mutate(pattern string) error {
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	s, err := build(pattern, folder)
	if err != nil {
		return err
	}
	tests, err := s.tests(folder, c.tests)
	if err != nil {
		return err
	}
	known, err := readKnown(c.page, s.name)
	if err != nil {
		return err
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		count = map[outcome]int{}
		same  int
		queue = make(chan edit)
	)
	for range c.workers {
		wg.Go(func() {
			for e := range queue {
				became := s.runMutant(e, tests)
				mu.Lock()
				unnoticed := became == survived || became == notCovered
				switch _, changesNothing := known[e.name()]; {
				case unnoticed && changesNothing:
					same++
				case unnoticed:
					fmt.Fprintf(c.out, "%s: %s\n", became, e)
					fallthrough
				default:
					count[became]++
				}
				mu.Unlock()
			}
		})
	}
	for _, e := range s.edits {
		if c.has(e) {
			queue <- e
		}
	}
	close(queue)
	wg.Wait()
	found := count[killed] + count[timedOut]
	others := found + count[survived] + count[notCovered]
	fmt.Fprintf(c.out,
		"%s: %d edits, of which %d change nothing; %d noticed, %.1f %% of the others (%d as a test did not end), %d "+
			"live, %d not reached\n",
		pattern, others+same, same, found, 100*float64(found)/float64(max(1, others)), count[timedOut], count[survived],
		count[notCovered])
	return nil
}

// tests runs each test with a matching name by itself, and records the edits that it reaches.
func (s *target) tests(folder string, names *regexp.Regexp) ([]test, error) {
	out, err := s.command(context.Background(), "-test.list", ".").Output()
	if err != nil {
		return nil, err
	}
	var all []test
	for name := range strings.FieldsSeq(string(out)) {
		if !names.MatchString(name) || !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Example") &&
			!strings.HasPrefix(name, "Fuzz") {
			continue
		}
		trace := filepath.Join(folder, "trace")
		command := s.command(context.Background(), "-test.run", "^"+name+"$")
		command.Env = append(os.Environ(), "MUTATE_TRACE="+trace)
		if out, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s fails without any edit: %w\n%s", name, err, out)
		}
		t := test{name, processor(command), map[int]bool{}}
		if text, err := os.ReadFile(trace); err == nil {
			for id := range strings.FieldsSeq(string(text)) {
				n, err := strconv.Atoi(id)
				if err != nil {
					return nil, err
				}
				t.reaches[n] = true
			}
			os.Remove(trace)
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return all, nil
}

func (s *target) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.binary, append(slices.Clone(s.flags), args...)...)
	command.Dir = s.dir
	command.WaitDelay = time.Second
	return command
}

// processor returns a process's processor time.
func processor(command *exec.Cmd) time.Duration {
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// runMutant runs the tests that reach an edit, the quick ones together and then each of the others.
func (s *target) runMutant(e edit, tests []test) outcome {
	var calls [][]test
	for _, t := range tests {
		switch {
		case !t.reaches[e.id]:
		case t.took < quick && len(calls) > 0:
			calls[0] = append(calls[0], t)
		default:
			calls = append(calls, []test{t})
		}
	}
	if calls == nil {
		return notCovered
	}
	for _, call := range calls {
		if became := s.runs(e, call); became != survived {
			return became
		}
	}
	return survived
}

// runs runs tests under an edit. An endless loop shows by its processor time, which does not depend on the load of the
// machine. An endless wait needs a limit in real time.
func (s *target) runs(e edit, tests []test) outcome {
	var names []string
	bound := 3 * time.Second
	for _, t := range tests {
		names = append(names, t.name)
		bound += 4 * t.took
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+10*bound)
	defer cancel()
	command := s.command(ctx, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	command.Env = append(os.Environ(), "MUTATE_EDIT="+strconv.Itoa(e.id))
	command.Args = append([]string{"sh", "-c", `ulimit -t "$0"; exec "$@"`, strconv.Itoa(int(bound.Seconds()))},
		append([]string{s.binary}, command.Args[1:]...)...)
	command.Path, command.Err = "/bin/sh", nil
	err := command.Run()
	switch {
	case ctx.Err() != nil, processor(command) >= bound-time.Second:
		return timedOut
	case err != nil:
		return killed
	}
	return survived
}

// readKnown returns a package's equivalent edits from a page, with the reasons.
func readKnown(page, name string) (map[string]string, error) {
	f, err := os.Open(page)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	reasons := map[string]string{}
	row := regexp.MustCompile("^\\| `([^`]+)` \\| `([^`]+)` \\| `([^`]+)` \\| (.+) \\|$")
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := row.FindStringSubmatch(lines.Text()); m != nil && strings.HasSuffix(name, path.Dir(m[1])) {
			reasons[path.Base(m[1])+": "+unescape(m[2])+" becomes "+unescape(m[3])] = m[4]
		}
	}
	return reasons, lines.Err()
}

// unescape returns the text of a cell with its escaped bars.
func unescape(cell string) string { return strings.ReplaceAll(cell, `\|`, "|") }
