//go:build !js

package main

import (
	"fmt"
	"os"
)

// main says what the program is for, where it is not compiled for that.
func main() {
	fmt.Fprintln(os.Stderr, "the engine runs in a browser: make site compiles it for that")
	os.Exit(64)
}
