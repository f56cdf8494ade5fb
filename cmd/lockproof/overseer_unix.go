//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// interruption is what the overseer makes of an interrupt. A Ctrl-C at the terminal
// reaches both processes, a kill only one: the program obeys its overseer alone, so
// that one interrupt counts as one.
const interruption = syscall.SIGUSR1

// passedOn are the signals that would end the overseer: they are for the program.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT,
	syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS,
}

// passOn hands a signal on; a program that has ended already has no use for it.
func passOn(program *os.Process, s os.Signal) {
	if s == syscall.SIGINT || s == syscall.SIGTERM {
		s = interruption
	}
	_ = program.Signal(s)
}

// obeyOverseer makes the program leave interrupts to its overseer. What comes
// from it ends the program, until something else is made of it.
func obeyOverseer() {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	interrupts = []os.Signal{interruption}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, interruption)
	go func() {
		for range ends {
			if !handled.Load() {
				os.Exit(ending(exitInterrupted))
			}
		}
	}()
	watchParent()
}
