package suite

import (
	"errors"
	"os/exec"
)

// start always fails: in a browser, Run runs all trials in the program itself.
func start(*exec.Cmd) error { return errors.New("a browser has no processes") }
