package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/term"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// Widths, in columns: of what is not a terminal, and of a terminal that does
// not say.
const (
	pipeWidth    = 100
	defaultWidth = 80
)

// program is what the commands work with. Tests put other things in its place.
type program struct {
	in       io.Reader
	out, err io.Writer
	// rawOut and rawErr are the same as they were given, for lines that are drawn
	// again in place and for what only programs read.
	rawOut, rawErr io.Writer
	// causes: experiments are made about every violation, not only about those that differ.
	causes bool
	screen terminal.Screen
	// live is whether out is a terminal on which lines can be redrawn; width
	// then asks how wide it is by now.
	live  bool
	width func() int
	// suite runs jobs (suite.Children.Run); clean removes what dead runs left.
	suite suite.Runner
	// pool gives what runs trials one by one (suite.Children.Pool); nil: no experiments are made.
	pool  func(suite.Options) (*suite.Pool, error)
	clean func(context.Context, io.Writer) error
	// exitNow ends the program at once with an exit code.
	exitNow func(code int)
}

// detectTerminal finds out what kind of thing the output is.
func (p *program) detectTerminal(out *os.File) {
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
}

func widthOf(out *os.File) int {
	width, _, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 {
		return defaultWidth
	}
	return width
}

// version is what was built, and from which commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info)
}

// versionOf is the module's version, or "devel" for a build from a work tree, and
// the commit where the version does not name it and the build knows it.
func versionOf(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	const digits = 12 // as many as Go's own versions have
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
