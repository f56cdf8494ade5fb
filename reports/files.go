package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The files that a report writes into its folder.
const (
	ResultsFile = "results.json"
	JUnitFile   = "junit.xml"
	SummaryFile = "summary.md"
)

// WriteFiles writes every file of the report into its output folder, which it
// makes if need be, and gives their paths. A file is either the old one or the
// whole new one, never a part.
func (r *Report) WriteFiles() ([]string, error) {
	if err := os.MkdirAll(r.Options.Out, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the output folder: %w", err)
	}
	writers := []struct {
		name  string
		write func(io.Writer) error
	}{
		{ResultsFile, r.WriteResults},
		{JUnitFile, r.WriteJUnit},
		{SummaryFile, r.WriteSummary},
	}
	var paths []string
	for _, w := range writers {
		path := filepath.Join(r.Options.Out, w.name)
		if err := writeFile(path, w.write); err != nil {
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
	histories, err := fs.Glob(os.DirFS(out), "trials/*/*/history.jsonl")
	if err != nil {
		return fmt.Errorf("cannot use the output folder %s: %w", out, err)
	}
	for _, name := range append([]string{ResultsFile, JUnitFile, SummaryFile}, histories...) {
		file := filepath.Join(out, name)
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove an earlier run's file: %w", err)
		}
	}
	for _, name := range histories {
		trial := filepath.Dir(filepath.Join(out, name))
		os.Remove(trial) // folders that hold more than ours stay
		os.Remove(filepath.Dir(trial))
	}
	return nil
}

// writeFile writes into a temporary file beside path and then renames it.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // there is nothing to remove once it is renamed
	_, err = f.Write(b.Bytes())
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
