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

// ErrDeadlock means that goroutines of a bubble wait for ever: either f cannot end, or f has ended and they remain.
var ErrDeadlock = errors.New("deadlock in virtual time")

// LeftError is a deadlock of a bubble after the end of its function: these goroutines remain, and never end.
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

// goroutinesRemain is the runtime's text.
const goroutinesRemain = "main bubble goroutine has exited but blocked goroutines remain"

// Run runs f in a bubble of its own and returns when every goroutine of the bubble has ended. The bubble's clock starts
// at midnight UTC 2000-01-01. Several bubbles may run at a time; a bubble inside a bubble is an error.
//
// A panic or a runtime.Goexit in f, and a deadlock, are returned as errors. The goroutines of a deadlocked bubble never
// end. A panic in another goroutine of the bubble ends the process, as anywhere in Go. A goroutine that waits for
// something outside the bubble (a socket, a mutex held across a sleep) stops the bubble's clock: see MutexWait.
func Run(f func()) error {
	inside, name := new(error), new(string)
	outside := make(chan error)
	// In its own goroutine, as synctest.Test calls runtime.Goexit after a failure, which must not end the caller.
	go func() {
		err := errors.New("testing/synctest called the bubble a failed test, for reasons of its own: " +
			"perhaps a data race that the race detector has printed")
		defer func() {
			if p := recover(); p != nil {
				err = runtimeError(p, *name)
			}
			outside <- err
		}()
		synctest.Test(new(testing.T), func(*testing.T) {
			own := make([]byte, 200)
			*name = bubbleName(own[:runtime.Stack(own, false)])
			*inside = catchPanic(f)
		})
		err = nil
	}()
	err := <-outside
	if *inside == nil {
		return err
	}
	// The inner error comes first, as it caused the other.
	return errors.Join(*inside, err)
}

// runtimeError explains a panic of the runtime that ended a bubble.
func runtimeError(p any, bubble string) error {
	text := fmt.Sprint(p)
	if text == "deadlock: "+goroutinesRemain {
		return &LeftError{goroutinesOf(bubble, stacks())}
	}
	if why, ok := strings.CutPrefix(text, "deadlock: "); ok {
		return fmt.Errorf("%w: %s", ErrDeadlock, why)
	}
	return fmt.Errorf("no virtual time: %s", text)
}

// catchPanic calls f and turns a panic into an error. It runs f in its own goroutine, since a Goexit in the bubble's
// first goroutine would be an unrecoverable panic of package testing.
func catchPanic(f func()) error {
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
