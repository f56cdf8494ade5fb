// Command typecheck checks the types of all packages of a module and of their tests for other systems, from their
// source. It compiles nothing, so that a system takes seconds and not minutes. `make cross` calls it.
//
//	typecheck FOLDER darwin/arm64 windows/amd64 ...
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck FOLDER SYSTEM/PROCESSOR ...")
		os.Exit(64)
	}
	for _, platform := range os.Args[2:] {
		checked, mistakes, err := check(os.Args[1], platform)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d packages and tests\n", platform, checked)
		if mistakes > 0 {
			os.Exit(1)
		}
	}
}

// check prints the mistakes in packages, and returns their number and that of the packages.
func check(folder, platform string) (checked, mistakes int, err error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return 0, 0, fmt.Errorf("%q: want SYSTEM/PROCESSOR, for example windows/amd64", platform)
	}
	found, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax, Dir: folder, Tests: true,
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor),
	}, "./...")
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", platform, err)
	}
	if len(found) == 0 {
		return 0, 0, fmt.Errorf("%s: there are no packages in %s", platform, folder)
	}
	return len(found), packages.PrintErrors(found), nil
}
