package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
)

// The program runs in a process of its own, under one that does nothing but look
// how it ends. Go itself ends a process with exit code 2 when it cannot go on, and
// whatever else crashes may do so with any code; but here 1 and 2 are verdicts.
// So the program ends with codes that nothing else uses, which the overseer turns
// into those that users know; and any other end is exit code 3.

// overseen names the environment variable in which the overseer tells the program
// its own process id.
const overseen = "LOCKPROOF_OVERSEER"

// decided are the exit codes that the program decides on. The program itself ends
// with the index of one, and decidedFirst on top.
var decided = []int{0, 1, 2, exitFailed, exitUsage, exitInterrupted}

const decidedFirst = 101

// helpers are the commands that the harness starts: it knows how they end.
var helpers = []string{"worker", "trials", "proxy"}

// isOverseen reports, once, whether this process is the program under its
// overseer.
func isOverseen() bool {
	pid := os.Getenv(overseen)
	os.Unsetenv(overseen) // it is not for those that the program starts
	return pid == strconv.Itoa(os.Getppid())
}

// ending is the code with which the program under its overseer ends for an exit
// code.
func ending(code int) int { return decidedFirst + slices.Index(decided, code) }

// oversee runs the program with these arguments and gives the exit code.
func oversee(args []string, complaints io.Writer) int {
	// Linux kills a child whose parent's thread has ended: this one does not.
	runtime.LockOSThread()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(complaints, "lockproof: cannot find this program to run it: %v\n", err)
		return exitFailed
	}
	cmd := exec.Command(self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), overseen+"="+strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = diesWithParent()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn...)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(complaints, "lockproof: cannot start this program: %v\n", err)
		return exitFailed
	}
	go func() {
		for s := range signals {
			passOn(cmd.Process, s)
		}
	}()
	_ = cmd.Wait() // its state says all
	if i := cmd.ProcessState.ExitCode() - decidedFirst; i >= 0 && i < len(decided) {
		return decided[i]
	}
	fmt.Fprintf(complaints,
		"lockproof: the program ended unexpectedly (%s); this says nothing about any lock\n",
		cmd.ProcessState)
	return exitFailed
}
