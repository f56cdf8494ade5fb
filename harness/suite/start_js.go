package suite

import (
	"errors"
	"os/exec"
)

// start starts nothing: a browser runs all trials in the program itself, by Run.
func start(*exec.Cmd) error { return errors.New("a browser has no processes") }
