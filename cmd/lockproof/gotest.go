package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/interleave/rewrite"
	"example.org/lockproof/harness/overlay"
	"example.org/lockproof/reports"
)

func (p *program) testCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test [-interleave module] [-repeatable] [go test flags] [packages]",
		Short: "Run go test with locks that dial by themselves in virtual time",
		Long: `Runs go test with the same arguments, and adds a build overlay of package net. In a
trial of locktest, net.Dial then reaches the servers in memory: a library that dials
the address of env.Server(i) by itself runs in virtual time, unchanged. Everywhere
else package net is as it was. The first build takes longer: what imports net is
compiled once more.

With -interleave MODULE the goroutines of that module overtake each other: at one of four points
at which they can observe each other, a goroutine waits for a time drawn from the seed, a
sixteenth of the TTL at most. A violation that does not occur without the waits is a race; the
report names the two places in the source.

With -repeatable one seed gives one history, even of locks with racing goroutines: in a trial,
select, maps, timers of one instant and math/rand/v2 follow from the seed. For that, Go's
runtime gets an overlay as well, and all packages are compiled once more.

If this release of Go is unknown to the overlay, plain go test is run, and says so.
Tests that say locktest.DialsItself() then run on real servers.

Exit codes: 0 all tests pass; 1 a test fails, or does not compile; 4 interrupted; 3 the
go command cannot be run; 64 bad usage.`,
		Example: `  lockproof test ./...
  lockproof test -run TestLock/late-release -v ./locks
  lockproof test -repeatable ./locks
  lockproof test -interleave github.com/go-redsync/redsync/v4 ./locks`,
		DisableFlagParsing: true, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
				return cmd.Help()
			}
			ctx, done := p.interruptible(cmd.Context())
			defer done()
			return p.goTest(ctx, args)
		},
	}
}

func (p *program) goTest(ctx context.Context, args []string) error {
	folder, rest := changeFolder(args)
	release, err := goEnv(ctx, folder)
	if err != nil {
		return failed(err)
	}
	if findFlag(rest, "overlay") >= 0 || findFlag(strings.Fields(release.GOFLAGS), "overlay") >= 0 {
		return usage("lockproof test gives go test an overlay of its own: leave out -overlay, in GOFLAGS too")
	}
	record, err := process.NewRecord()
	if err != nil {
		return failed(err)
	}
	defer record.Remove()
	temp := record.Folder()
	module, rest, err := interleaved(rest)
	if err != nil {
		return err
	}
	o := overlay.Options{}
	if at := findFlag(rest, "repeatable"); at >= 0 {
		o.Repeatable, rest = true, slices.Delete(slices.Clone(rest), at, at+1)
	}
	flags := []string{"test"}
	file, err := overlay.Write(temp, release.GOROOT, o)
	var unknown *overlay.ReleaseError
	switch {
	case errors.As(err, &unknown) && module == "" && !o.Repeatable:
		fmt.Fprintf(p.err,
			"lockproof: %s: %v\nlockproof: running plain go test: locks that dial by themselves do not run in virtual time\n",
			release.GOVERSION, unknown)
	case err != nil:
		return failed(err)
	case module != "":
		points, err := p.addPoints(ctx, folder, module, temp, file, release, o)
		if err != nil {
			return err
		}
		flags = append(append(flags, points...), "-overlay="+file)
	default:
		flags = append(flags, "-overlay="+file)
	}
	return p.runGo(ctx, folder, record, append(flags, rest...))
}

// addPoints adds points to a module and to the overlay, and returns further flags for go.
func (p *program) addPoints(ctx context.Context, folder, module, temp, file string,
	release goRelease, o overlay.Options) ([]string, error) {
	change, err := rewrite.Module(ctx, cmp.Or(folder, "."), module, temp, file)
	if err != nil {
		return nil, usage("-interleave: %v", err)
	}
	fmt.Fprintf(p.err, "lockproof: %s: %d points in %d files\n", module, change.Points, change.Files)
	o.Replace = change.Replace
	if _, err := overlay.Write(temp, release.GOROOT, o); err != nil {
		return nil, failed(err)
	}
	if change.Modfile == "" {
		return nil, nil
	}
	return []string{"-modfile=" + change.Modfile}, nil
}

// flagName parses a flag of go: its name, "" for any other argument, and its value behind an equals sign.
func flagName(arg string) (name, value string, given bool) {
	text, isFlag := strings.CutPrefix(arg, "-")
	if !isFlag {
		return "", "", false
	}
	return strings.Cut(strings.TrimPrefix(text, "-"), "=")
}

// findFlag returns the index of a flag of go test, -1 for none before -args: later arguments are the tests' own.
func findFlag(args []string, flag string) int {
	for i, arg := range args {
		switch name, _, _ := flagName(arg); name {
		case flag:
			return i
		case "args":
			return -1
		}
	}
	return -1
}

// interleaved removes the flag -interleave from the arguments.
func interleaved(args []string) (module string, rest []string, err error) {
	at := findFlag(args, "interleave")
	if at < 0 {
		return "", args, nil
	}
	if _, value, given := flagName(args[at]); given {
		return value, slices.Delete(slices.Clone(args), at, at+1), nil
	}
	if at+1 == len(args) || strings.HasPrefix(args[at+1], "-") {
		return "", args, usage("-interleave: which module? for example -interleave=github.com/go-redsync/redsync/v4")
	}
	return args[at+1], slices.Delete(slices.Clone(args), at, at+2), nil
}

// changeFolder removes go's flag -C from the arguments: go accepts it only as the first flag.
func changeFolder(args []string) (folder string, rest []string) {
	if len(args) == 0 {
		return "", args
	}
	switch name, value, given := flagName(args[0]); {
	case name == "C" && given:
		return value, args[1:]
	case name == "C" && len(args) > 1:
		return args[1], args[2:]
	}
	return "", args
}

// goRelease is the Go release that a module requires.
type goRelease struct{ GOROOT, GOVERSION, GOFLAGS string }

func goEnv(ctx context.Context, folder string) (goRelease, error) {
	var release goRelease
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOROOT", "GOVERSION", "GOFLAGS")
	cmd.Dir = folder
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &release)
	}
	if err != nil {
		return release, fmt.Errorf("go env: %w\n%s", err, strings.TrimSpace(said.String()))
	}
	return release, nil
}

// runGo runs the go command, and maps its exit code.
func (p *program) runGo(ctx context.Context, folder string, record *process.Record, args []string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), process.RecordVariable+"="+record.File())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, p.rawOut, p.rawErr
	if err := process.Start(cmd); err != nil {
		return failed(err)
	}
	ended := context.AfterFunc(ctx, func() { _ = process.InterruptGroup(cmd) }) // also the tests
	defer ended()
	err := cmd.Wait()
	var exited *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &exit{code: reports.ExitInconclusive}
	case errors.As(err, &exited) && exited.ExitCode() == 1:
		return &exit{code: reports.ExitDiffers}
	case errors.As(err, &exited) && exited.ExitCode() == 2: // go has printed the error
		return &exit{code: exitUsage}
	}
	return failed(fmt.Errorf("go %s: %w", strings.Join(args, " "), err))
}
