package bubble

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Goroutine is a goroutine in a bubble.
type Goroutine struct {
	// Owner is the function that started it, with its package's path; Place is the file and line.
	Owner, Place string
	// Waits is the function in which it waits; line is the file and line.
	Waits, line string
}

// BelongsTo reports whether it was started by, or waits in, a function of one of the packages or of one below these.
func (g Goroutine) BelongsTo(packages []string) bool {
	return InPackages(packages, g.Owner) || InPackages(packages, g.Waits)
}

// InPackages reports whether a function belongs to one of the packages, or to a package below one.
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

// stacks returns the stacks of all goroutines, the caller's first.
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
	// frame matches a function on a stack, or the starter of the goroutine, with its file and line.
	frame = regexp.MustCompile(`(?m)^(created by )?(\S+?)(?:\([^()\n]*\))?(?: in goroutine \d+)?\n\t(\S+:\d+)`)
	// starters matches functions that start goroutines for their callers, or wait for them.
	starters = regexp.MustCompile(`^(context|sync|time|runtime|internal/sync)\.`)
)

func bubbleName(stack []byte) string { return inBubble.FindString(firstLine(string(stack))) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// goroutinesOf finds the goroutines of a bubble among stacks, without the caller's, which is first.
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

// parse finds the starter of a goroutine, and skips functions that start goroutines for their callers.
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
