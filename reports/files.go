package reports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The files that a report writes into its folder.
const (
	ResultsFile = "results.json"
	JUnitFile   = "junit.xml"
	SummaryFile = "summary.md"
	PageFile    = "report.html" // which package html writes
	// PorcupineFile is beside the history of a trial whose page links to it.
	PorcupineFile = "porcupine.html"
	// TimelineFile is beside the history of a violated trial that the page shows.
	TimelineFile = "timeline.svg"
)

// File is one file of a report.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// WriteFiles writes every file of the report, and more, into its output folder,
// which it makes if need be, and gives their paths. A file is either the old
// one or the whole new one, never a part.
func (r *Report) WriteFiles(more ...File) ([]string, error) {
	return writeFiles(r.Options.Out, append([]File{{ResultsFile, r.WriteResults}, {JUnitFile, r.WriteJUnit}, {SummaryFile, r.WriteSummary}}, more...))
}

func writeFiles(out string, files []File) ([]string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the output folder: %w", err)
	}
	var paths []string
	for _, f := range files {
		path := filepath.Join(out, f.Name)
		if err := writeFile(path, f.Write); err != nil {
			return paths, fmt.Errorf("cannot write %s: %w", path, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Clear removes from an output folder what an earlier run wrote there, so that
// a run that is killed does not leave another's results. It touches nothing
// else.
func Clear(out string) error {
	whole := []string{ResultsFile, JUnitFile, SummaryFile, PageFile, ValidationFile, ValidationPageFile}
	for _, name := range slices.Clone(whole) {
		begun, err := fs.Glob(os.DirFS(out), unfinished(name))
		if err != nil {
			return fmt.Errorf("cannot use the output folder %s: %w", out, err)
		}
		whole = append(whole, begun...)
	}
	var trials []string
	for _, name := range []string{PorcupineFile, TimelineFile, "history.jsonl"} {
		found, err := fs.Glob(os.DirFS(out), "trials/*/*/"+name)
		if err != nil {
			return fmt.Errorf("cannot use the output folder %s: %w", out, err)
		}
		trials = append(trials, found...)
	}
	for _, name := range append(whole, trials...) {
		file := filepath.Join(out, name)
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove an earlier run's file: %w", err)
		}
	}
	for _, name := range trials {
		trial := filepath.Dir(filepath.Join(out, name))
		os.Remove(trial) // folders that hold more than ours stay
		os.Remove(filepath.Dir(trial))
	}
	return nil
}

// unfinished is the pattern of a file's names while it is being written.
func unfinished(name string) string { return "." + name + ".*" }

// writeFile writes into a temporary file beside path and then renames it.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), unfinished(filepath.Base(path)))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // there is nothing to remove once it is renamed
	b := bufio.NewWriter(f)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
