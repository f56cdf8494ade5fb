package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Clean removes the folders of dead harnesses, whose processes died with them, and returns one line for each step. It
// leaves living harnesses alone. Stranded covers remains on a Docker engine.
func Clean() (done []string, err error) {
	err = eachRecord(func(name string, dead bool, entries []Entry) error {
		if !dead {
			return nil
		}
		lines, err := cleanRun(entries)
		done = append(done, lines...)
		if err != nil || engineOf(entries) != "" {
			return err // the record stays for the next time
		}
		return os.Remove(name)
	})
	return done, err
}

func cleanRun(entries []Entry) (done []string, err error) {
	for _, e := range entries {
		if e.Harness != nil {
			done = append(done, fmt.Sprintf("%s (pid %d) ended without cleaning up", e.Harness.Command, e.Harness.PID))
		}
		removed, err := removeFolder(e.Folder)
		if err != nil {
			return done, err
		}
		if removed {
			done = append(done, "removed "+e.Folder)
		}
	}
	return done, nil
}

func engineOf(entries []Entry) string {
	for _, e := range entries {
		if e.Engine != "" {
			return e.Engine
		}
	}
	return ""
}

// Stranded returns the records of dead harnesses that had projects on a Docker engine, with the engine's name. Remove
// the projects, then the record by Forget.
func Stranded() (records map[string]string, err error) {
	records = map[string]string{}
	err = eachRecord(func(name string, dead bool, entries []Entry) error {
		if engine := engineOf(entries); dead && engine != "" {
			records[name] = engine
		}
		return nil
	})
	return records, err
}

// Forget removes the record of a dead harness without projects on an engine. The harness may have died since the last
// Clean, so Forget first cleans the run: without the record, its remains would never be found.
func Forget(record string) error {
	return withRecord(record, func(name string, dead bool, entries []Entry) error {
		if !dead {
			return nil
		}
		if _, err := cleanRun(entries); err != nil {
			return err
		}
		return os.Remove(name)
	})
}

func removeFolder(folder string) (removed bool, err error) {
	if folder == "" {
		return false, nil
	}
	if !strings.HasPrefix(filepath.Base(folder), FolderPrefix) {
		return false, fmt.Errorf("%s is on record as a run's folder and does not have the name of one: not removed", folder)
	}
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = os.RemoveAll(folder)
	return err == nil, err
}
