package settings

import (
	"fmt"

	"example.org/lockproof/nemesis"
)

// Place is where something was set: a line of a file, or a flag's text where
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

// Problem is one thing that is wrong with a file: where, what, and what would
// be right. Column counts characters from 1.
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

// Remark is something that the settings leave open about every crash; where they are unsafe already, it is no news.
type Remark struct {
	Place Place  `json:"place"`
	What  string `json:"what"`
	// Data: the server may begin empty. That does not matter to a node that stays away until
	// all locks are over.
	Data bool `json:"data,omitempty"`
}

// Crash is a way for a server to go down: a kind of fault that does that.
type Crash string

// The crashes.
const (
	Kill      Crash = nemesis.Kill      // the process dies: SIGKILL, a segmentation fault, the OOM killer
	Shutdown  Crash = nemesis.Shutdown  // a clean SHUTDOWN, as of an upgrade
	PowerLoss Crash = nemesis.PowerLoss // the machine dies, and with it what had not been fsynced
)

// Crashes lists them all.
var Crashes = []Crash{Kill, Shutdown, PowerLoss}

// CrashNames gives their names.
func CrashNames() []string { return Names(Crashes) }

// Names are those of a list as plain texts.
func Names[T ~string](all []T) (names []string) {
	for _, one := range all {
		names = append(names, string(one))
	}
	return names
}
