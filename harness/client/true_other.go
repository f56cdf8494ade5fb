//go:build !linux

package client

import (
	"errors"
	"runtime"
)

// trueClock needs a clock that processes share with nothing but a number
// between them; only Linux's has been tried.
func trueClock(int64) (func() int64, error) {
	return nil, errors.New("workers need Linux's CLOCK_MONOTONIC, and this is " + runtime.GOOS +
		": run the scenario --on virtual")
}
