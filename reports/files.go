package reports

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/input"
)

// The files that a report writes into its folder.
const (
	ResultsFile = "results.json"
	JUnitFile   = "junit.xml"
	SummaryFile = "summary.md"
	PageFile    = "report.html" // written by package html
	// TimelineFile lies beside the history of a violated trial.
	TimelineFile = "timeline.svg"
)

// ValidationFile is the results of a validation.
const ValidationFile = "validation.json"

// File is one file of a report.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// WriteFiles writes the report's files, and more, into its output folder, which it creates, and returns their paths.
// Each file is replaced as a whole.
func (r *Report) WriteFiles(more ...File) ([]string, error) {
	files := []File{{ResultsFile, r.WriteResults}, {JUnitFile, r.WriteJUnit}, {SummaryFile, r.WriteSummary}}
	return WriteAll(r.Options.Out, append(files, more...))
}

// WriteAll writes files into an output folder, which it creates, and returns their paths.
func WriteAll(out string, files []File) ([]string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the output folder: %w", err)
	}
	var paths []string
	for _, f := range files {
		if err := WriteFile(out, f); err != nil {
			return paths, err
		}
		paths = append(paths, filepath.Join(out, f.Name))
	}
	return paths, nil
}

// trialsFolder contains one folder for each trial.
const trialsFolder = "trials"

// Clear removes an earlier run's files, so that a killed run does not leave another run's results, and the files named
// in also. It removes nothing else.
func (f *Folder) Clear(also ...string) error {
	names := append(also, ProgressFile, ResultsFile, JUnitFile, SummaryFile, PageFile, ValidationFile)
	var patterns []string
	for _, name := range names {
		patterns = append(patterns, temporaryPattern(name))
	}
	for _, name := range []string{
		TimelineFile, temporaryPattern(TimelineFile), "history.jsonl", "history.jsonl" + suite.NewSuffix,
	} {
		patterns = append(patterns, trialsFolder+"/*/*/"+name)
	}
	for _, pattern := range patterns {
		found, err := fs.Glob(f.root.FS(), pattern)
		if err != nil {
			return fmt.Errorf("cannot use the output folder %s: %w", f.name, err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		if err := f.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove an earlier run's file from %s: %w", f.name, err)
		}
		for dir := path.Dir(name); dir != "." && dir != trialsFolder; dir = path.Dir(dir) {
			f.root.Remove(filepath.FromSlash(dir)) // a folder with other files stays
		}
	}
	return nil
}

// temporaryPattern matches the names of a file that is being written.
func temporaryPattern(name string) string { return "." + name + ".*" }

// WriteFile writes one file below an output folder: first a temporary file beside it, then a rename. It replaces a link
// of that name, and follows no link out of the folder.
func WriteFile(out string, f File) error {
	root, err := os.OpenRoot(out)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := writeFile(root, filepath.FromSlash(f.Name), f.Write); err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(out, f.Name), input.Cause(err))
	}
	return nil
}

func writeFile(root *os.Root, name string, write func(io.Writer) error) error {
	pattern := temporaryPattern(filepath.Base(name))
	temporary := filepath.Join(filepath.Dir(name), strings.Replace(pattern, "*", rand.Text(), 1))
	file, err := root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer root.Remove(temporary) // does nothing after the rename
	b := bufio.NewWriter(file)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return root.Rename(temporary, name)
}
