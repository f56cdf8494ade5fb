package bubble

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
)

// ErrDeadlock says that goroutines of a bubble wait for something that will
// never come: either f cannot end, or f has ended and left them behind.
var ErrDeadlock = errors.New("deadlock in virtual time")

// LeftError is a deadlock of a bubble whose function has ended: these goroutines are left, and lost to the process.
type LeftError struct{ Goroutines []Goroutine }

func (e *LeftError) Error() string {
	text := ErrDeadlock.Error() + ": " + goroutinesRemain
	for i, g := range e.Goroutines {
		if i == 3 {
			return fmt.Sprintf("%s; %d more", text, len(e.Goroutines)-i)
		}
		text += "; started by " + g.String()
	}
	return text
}

func (e *LeftError) Unwrap() error { return ErrDeadlock }

// goroutinesRemain is how the runtime says so.
const goroutinesRemain = "main bubble goroutine has exited but blocked goroutines remain"

// Run runs f in a bubble of its own, in which the clock starts at midnight
// UTC 2000-01-01, and returns when every goroutine of the bubble has ended.
// Several bubbles may run at a time; a bubble inside a bubble is an error.
//
// A panic or a runtime.Goexit in f, and a deadlock, come back as errors. The
// goroutines of a deadlocked bubble are lost to the process. A panic in
// another goroutine of the bubble ends the process, as anywhere in Go; and a
// goroutine that waits for the world outside (a socket, a mutex held across a
// sleep) keeps the bubble's clock from moving: see MutexWait.
func Run(f func()) error {
	inside, name := new(error), new(string)
	outside := make(chan error)
	// A goroutine of its own: synctest.Test leaves by runtime.Goexit when it
	// deems its test failed, and that must not end the caller.
	go func() {
		err := errors.New("testing/synctest called the bubble a failed test, for reasons of its own: " +
			"perhaps a data race that the race detector has printed")
		defer func() {
			if p := recover(); p != nil {
				err = refusal(p, *name)
			}
			outside <- err
		}()
		synctest.Test(new(testing.T), func(*testing.T) {
			own := make([]byte, 200)
			*name = bubbleName(own[:runtime.Stack(own, false)])
			*inside = contain(f)
		})
		err = nil
	}()
	err := <-outside
	if *inside == nil {
		return err
	}
	// What went wrong inside comes first: it is why the rest was left behind.
	return errors.Join(*inside, err)
}

// refusal puts into words a panic of the runtime's that ended a bubble.
func refusal(p any, bubble string) error {
	text := fmt.Sprint(p)
	if text == "deadlock: "+goroutinesRemain {
		return &LeftError{goroutinesOf(bubble, stacks())}
	}
	if why, ok := strings.CutPrefix(text, "deadlock: "); ok {
		return fmt.Errorf("%w: %s", ErrDeadlock, why)
	}
	return fmt.Errorf("no virtual time: %s", text)
}

// contain calls f and turns a panic into an error. It runs f in a goroutine of
// its own, since a Goexit in the bubble's first goroutine would be a panic of
// package testing that nobody can recover.
func contain(f func()) error {
	err := errors.New("the bubble's function ended by runtime.Goexit")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic in virtual time: %v\n%s", p, debug.Stack())
			}
		}()
		f()
		err = nil
	}()
	<-done
	return err
}
