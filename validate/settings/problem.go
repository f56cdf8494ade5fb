package settings

import (
	"fmt"
	"slices"

	"example.org/lockproof/nemesis"
)

// Place is where something was set: a line of a file, or a flag's text if
// Line is 0.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
}

// String writes the place as compilers do.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Problem is one mistake in a file, and the remedy. Column counts characters
// from 1.
type Problem struct {
	Place
	Column      int
	What, Right string
}

func (p *Problem) Error() string {
	at := p.Place.String()
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, max(p.Column, 1))
	}
	return fmt.Sprintf("%s: %s; %s", at, p.What, p.Right)
}

// Remark is a doubt that the settings leave about every crash.
type Remark struct {
	Place Place  `json:"place"`
	What  string `json:"what"`
	// Data: the server may begin empty. That is harmless if the node stays away until every lock
	// has expired.
	Data bool `json:"data,omitempty"`
	// Others: other servers answer for its keys, which makes this one no safer.
	Others bool `json:"others,omitempty"`
}

// Crash is a kind of fault that takes a server down.
type Crash string

// The crashes.
const (
	Kill      Crash = nemesis.Kill      // the process dies: SIGKILL, a segmentation fault, the OOM killer
	Shutdown  Crash = nemesis.Shutdown  // a clean SHUTDOWN, as of an upgrade
	PowerLoss Crash = nemesis.PowerLoss // the machine dies, and unsynced writes are lost
)

// Crashes lists them all.
var Crashes = []Crash{Kill, Shutdown, PowerLoss}

// Names converts a list of names to strings.
func Names[T ~string](all []T) (names []string) {
	for _, one := range all {
		names = append(names, string(one))
	}
	return names
}

// Named returns those of a list that have one of the names, in its order.
func Named[T ~string](all []T, names []string) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !slices.Contains(names, string(one)) })
}
