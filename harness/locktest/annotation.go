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

// callSite is the test's line that called Run.
type callSite struct {
	file string
	line int
	// packages are the test's own: the package and its external test package.
	packages [2]string
}

// callerOfRun must be called by Run itself.
func callerOfRun() callSite {
	pc, file, line, _ := runtime.Caller(2)
	name := runtime.FuncForPC(pc).Name()
	slash := strings.LastIndex(name, "/") + 1
	base, _, _ := strings.Cut(name[slash:], ".")
	path := name[:slash] + strings.TrimSuffix(base, "_test")
	return callSite{filepath.Base(file), line, [2]string{path, path + "_test"}} // a test runs in its own folder
}

// annotate makes GitHub show a failure beside the test's line. workspace is the repository's folder on GitHub's
// runner.
func (p callSite) annotate(w io.Writer, workspace, row, why string) {
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
