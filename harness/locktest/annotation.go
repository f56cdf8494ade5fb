package locktest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"example.org/lockproof/reports"
)

// place is the line of a test that called Run.
type place struct {
	file string
	line int
}

// callerOfRun is where the caller of its caller called that.
func callerOfRun() place {
	_, file, line, _ := runtime.Caller(2)
	return place{filepath.Base(file), line} // a test is run in its folder
}

// callersPackages are the package whose function called the caller, and that of its tests from outside.
func callersPackages() [2]string {
	pc, _, _, _ := runtime.Caller(2)
	name := runtime.FuncForPC(pc).Name()
	slash := strings.LastIndex(name, "/") + 1
	base, _, _ := strings.Cut(name[slash:], ".")
	path := name[:slash] + strings.TrimSuffix(base, "_test")
	return [2]string{path, path + "_test"}
}

// annotate has GitHub show a failure beside the line of the test, on whose machines workspace is the repository's
// folder.
func (p place) annotate(w io.Writer, workspace, row, why string) {
	if workspace == "" {
		return
	}
	folder, err := os.Getwd()
	if err != nil {
		return
	}
	below, err := filepath.Rel(workspace, filepath.Join(folder, p.file))
	if err != nil || !filepath.IsLocal(below) {
		return
	}
	fmt.Fprint(w, reports.Annotation("error", filepath.ToSlash(below), p.line, row, why))
}
