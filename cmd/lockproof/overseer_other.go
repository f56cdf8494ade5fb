//go:build unix && !linux

package main

import (
	"os"
	"syscall"
	"time"
)

func diesWithParent() *syscall.SysProcAttr { return nil }

// watchParent ends the program when its overseer has been killed.
func watchParent() {
	overseer := os.Getppid()
	go func() {
		for os.Getppid() == overseer {
			time.Sleep(200 * time.Millisecond)
		}
		os.Exit(exitFailed)
	}()
}
