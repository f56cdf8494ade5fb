//go:build !js

package main

import (
	"fmt"
	"os"
)

// main explains the program if it was not compiled for a browser.
func main() {
	fmt.Fprintln(os.Stderr, "the engine runs in a browser: make site compiles it for that")
	os.Exit(64)
}
