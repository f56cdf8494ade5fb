package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"example.org/lockproof/bench/figures"
	"example.org/lockproof/bench/trials"
)

// suite is a group of benchmarks.
type suite struct {
	name string
	doc  string
	// measure reports its progress in lines, and returns the complete sections, even with an error.
	measure func(ctx context.Context, say func(format string, args ...any)) ([]figures.Section, error)
}

// The exit codes, as in lockproof.
const (
	exitFailed = 3
	exitUsage  = 64
)

func main() {
	if slices.Equal(os.Args[1:], []string{trials.Child}) {
		os.Exit(trials.Serve())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, suites, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, all []suite, args []string, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	out := flags.String("out", filepath.Join("bench", "out"), "folder for bench.json and bench.txt")
	chosen, err := []suite(nil), flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(stdout, help(all, flags))
		return 0
	}
	if err == nil {
		chosen, err = choose(all, flags.Args())
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return exitUsage
	}
	say := func(format string, args ...any) { fmt.Fprintf(stderr, "bench: "+format+"\n", args...) }
	report := figures.Report{Machine: figures.ThisMachine()}
	var errs []error
	for _, s := range chosen {
		sections, err := s.measure(ctx, say)
		report.Sections = append(report.Sections, sections...)
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("%s: interrupted; the table has the sections that were whole by then", s.name))
			break
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	errs = append(errs, report.WriteTable(stdout), save(report, *out))
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return exitFailed
	}
	return 0
}

func help(all []suite, flags *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("bench [SUITE ...] measures, prints a table and writes it as JSON; without a name, every suite:\n\n")
	for _, s := range all {
		fmt.Fprintf(&b, "  %-10s %s\n", s.name, s.doc)
	}
	b.WriteString("\n" + flags.FlagUsages())
	return b.String()
}

// choose returns the suites with these names, or all without names.
func choose(all []suite, names []string) ([]suite, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []suite
	for _, name := range names {
		i := slices.IndexFunc(all, func(s suite) bool { return s.name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.name)
			}
			return nil, fmt.Errorf("no suite named %q: there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// save writes the report to a folder, for programs and for readers.
func save(report figures.Report, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"bench.json": report.WriteJSON,
		"bench.txt":  report.WriteTable,
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
