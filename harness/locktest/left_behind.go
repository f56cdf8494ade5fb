package locktest

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"strings"
)

// leftBehind names the goroutines of a bubble that are the lock's own: those in whose stacks nothing is the harness's.
func leftBehind() error {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	goroutines := strings.Split(string(stacks), "\n\n")
	bubble := bubbleOf.FindString(goroutines[0])
	if bubble == "" {
		return nil // in real time, nobody minds
	}
	var places []string
	for _, stack := range goroutines[1:] {
		head, _, _ := strings.Cut(stack, "\n")
		if !strings.Contains(head, bubble) || isOwn(stack) || byBubble.MatchString(stack) {
			continue
		}
		if m := createdAt.FindStringSubmatch(stack); m != nil {
			places = append(places, path.Base(m[1]))
		}
	}
	switch len(places) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the lock leaves 1 goroutine (%s)"+afterEnd, places[0])
	}
	return fmt.Errorf("the lock leaves %d goroutines (%s)"+afterEnd, len(places), strings.Join(places, ", "))
}

// isOwn reports whether a function of the harness is on a stack; those of this package's tests are a lock's.
func isOwn(stack string) bool {
	for line := range strings.Lines(stack) {
		if strings.HasPrefix(line, ownPackages) && !strings.HasPrefix(line, ownPackages+"locktest_test") {
			return true
		}
	}
	return false
}

const afterEnd = " after Release, or when its client has ended: stop it there, by env.Context(), or give the lock a Close()"

var (
	// bubbleOf finds in a goroutine's first line which bubble it is in.
	bubbleOf = regexp.MustCompile(`synctest bubble \d+`)
	// byBubble finds out that a goroutine is the bubble's own.
	byBubble = regexp.MustCompile(`created by \S*synctest`)
	// createdAt finds where a goroutine was started.
	createdAt = regexp.MustCompile(`created by .*\n\t(\S+:\d+)`)
	// ownPackages begins the names of the harness's functions.
	ownPackages = strings.TrimSuffix(reflect.TypeFor[adapter]().PkgPath(), "locktest")
)
