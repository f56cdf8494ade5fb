//go:build !js

package suite

import (
	"os/exec"

	"example.org/lockproof/harness/cluster/process"
)

// start starts a process that ends with this one.
func start(cmd *exec.Cmd) error { return process.Start(cmd) }
