package trials

import (
	"fmt"
	"os"

	"example.org/lockproof/harness/suite"
)

// Child is the argument of the measuring program for its child processes, which run trials as lockproof does: see
// [suite.Children].
const Child = "serve-trials"

// Serve is the program with that argument. It returns the exit code.
func Serve() int {
	if err := suite.ServeTrials(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Children runs trials as lockproof does.
func Children() (*suite.Children, error) {
	self, err := os.Executable()
	return &suite.Children{Command: []string{self, Child}, Stderr: os.Stderr}, err
}
