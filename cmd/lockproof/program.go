package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"golang.org/x/term"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// Widths, in columns: of a pipe, and of a terminal of unknown width.
const (
	pipeWidth    = 100
	defaultWidth = 80
)

// program has the dependencies of the commands. Tests replace them.
type program struct {
	in       io.Reader
	out, err io.Writer
	// rawOut and rawErr are out and err without a filter, for lines that are redrawn
	// in place and for output that only programs read.
	rawOut, rawErr io.Writer
	// causes: experiments examine every violation, not only unexpected ones.
	causes   bool
	screen   terminal.Screen
	command  string // with its program, as in "lockproof run"
	errWidth int    // of the terminal that shows err; 0: it is none
	// shown is the live display, nil if there is none.
	shown atomic.Pointer[display]
	// live: out is a terminal on which lines can be redrawn; width is then its
	// current width.
	live  bool
	width func() int
	// suite runs jobs (suite.Children.Run); clean removes the remains of dead runs.
	suite suite.Runner
	// pool runs trials one by one (suite.Children.Pool); nil: no experiments.
	pool  func(suite.Options) (*suite.Pool, error)
	clean func(context.Context, io.Writer) error
	// exitNow ends the program at once with an exit code.
	exitNow func(code int)
}

func (p *program) detectTerminal(out, err *os.File) {
	isTerminal := term.IsTerminal(int(out.Fd()))
	dumb := os.Getenv("TERM") == "dumb"
	p.live = isTerminal && !dumb
	p.width = func() int { return widthOf(out) }
	p.screen = terminal.Screen{
		Width:  pipeWidth,
		Colour: p.live && os.Getenv("NO_COLOR") == "",
	}
	if isTerminal {
		p.screen.Width = max(p.width(), terminal.MinWidth)
	}
	if term.IsTerminal(int(err.Fd())) {
		p.errWidth = max(widthOf(err), terminal.MinWidth)
	}
}

func widthOf(out *os.File) int {
	width, _, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 {
		return defaultWidth
	}
	return width
}

// version is the module's version and commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info)
}

// versionOf is the module's version, or "devel" for a build from a work tree, and
// the commit if the build has it and the version does not.
func versionOf(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	const digits = 12 // as in Go's pseudo-versions
	commit := built["vcs.revision"]
	commit = commit[:min(digits, len(commit))]
	if commit == "" || strings.Contains(version, commit) {
		return version
	}
	if built["vcs.modified"] == "true" {
		commit += "+dirty"
	}
	return version + ", commit " + commit
}
