package main

import (
	"os"
	"syscall"
)

// passedOn is only kept from ending the overseer: a Ctrl-C reaches the program as
// well, and there is no other signal.
var passedOn = []os.Signal{os.Interrupt}

func passOn(*os.Process, os.Signal) {}

func diesWithParent() *syscall.SysProcAttr { return nil }

// obeyOverseer ends the program when its overseer has been killed.
func obeyOverseer() {
	overseer, err := os.FindProcess(os.Getppid())
	if err != nil {
		os.Exit(exitFailed)
	}
	go func() {
		_, _ = overseer.Wait()
		os.Exit(exitFailed)
	}()
}
