//go:build !js

package suite

import (
	"os/exec"

	_ "example.org/lockproof/harness/cluster/local" // a kind that needs processes
	"example.org/lockproof/harness/cluster/process"
)

// start starts a process that ends with this one.
func start(cmd *exec.Cmd) error { return process.Start(cmd) }
