package bubble

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Goroutine is one that is in a bubble.
type Goroutine struct {
	// Owner is the function that started it, with its package's path, and Place its file and line.
	Owner, Place string
	// Waits is the function that it waits in, and line that function's file and line.
	Waits, line string
}

// BelongsTo reports whether it was started by a function of a package, or of one below, or waits in one.
func (g Goroutine) BelongsTo(packages []string) bool {
	return InPackages(packages, g.Owner) || InPackages(packages, g.Waits)
}

// InPackages reports whether a function is of one of some packages, or of a package below one.
func InPackages(packages []string, function string) bool {
	return slices.ContainsFunc(packages, func(p string) bool {
		rest, in := strings.CutPrefix(function, p)
		return in && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/"))
	})
}

func (g Goroutine) String() string {
	if g.Waits == "" || g.Waits == g.Owner {
		return fmt.Sprintf("%s (%s)", g.Owner, g.Place)
	}
	return fmt.Sprintf("%s (%s), in %s", g.Owner, g.Place, g.Waits)
}

// stacks are those of all goroutines, the caller's first.
func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, true); n < size {
			return string(text[:n])
		}
	}
}

var (
	inBubble = regexp.MustCompile(`synctest bubble \d+`)
	// frame is a function on a stack with its place, or the one that started the goroutine.
	frame = regexp.MustCompile(`(?m)^(created by )?(\S+?)(?:\([^()\n]*\))?(?: in goroutine \d+)?\n\t(\S+:\d+)`)
	// starters start goroutines for others, or wait for them.
	starters = regexp.MustCompile(`^(context|sync|time|runtime|internal/sync)\.`)
)

func bubbleName(stack []byte) string { return inBubble.FindString(firstLine(string(stack))) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// goroutinesOf finds the goroutines of a bubble among stacks, of which the first is the caller's.
func goroutinesOf(bubble, stacks string) []Goroutine {
	var found []Goroutine
	if bubble == "" {
		return nil
	}
	for _, stack := range strings.Split(stacks, "\n\n")[1:] {
		if inBubble.FindString(firstLine(stack)) != bubble {
			continue
		}
		if g := parse(stack); !strings.Contains(g.Owner, "synctest") {
			found = append(found, g)
		}
	}
	return found
}

// parse finds out who started a goroutine: if that is a function that starts others', it is whose function runs.
func parse(stack string) Goroutine {
	var g Goroutine
	for _, f := range frame.FindAllStringSubmatch(stack, -1) {
		if starters.MatchString(f[2]) {
			continue
		}
		if g.Waits == "" && f[1] == "" {
			g.Waits, g.line = f[2], path.Base(f[3])
		}
		g.Owner, g.Place = f[2], path.Base(f[3])
	}
	return g
}
