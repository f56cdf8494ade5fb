package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Clean kills the processes and removes the folders of dead harnesses, and returns one line for each. It leaves living
// harnesses alone, and every process whose number, start time and name differ from the record. Stranded covers
// remains on a Docker engine.
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
	note := func(line string, err error) error {
		if line != "" {
			done = append(done, line)
		}
		return err
	}
	for _, e := range entries {
		if err := note(undo(e)); err != nil {
			return done, err
		}
	}
	if len(entries) > 0 && entries[0].Folder != "" {
		err = note(removeFolder(entries[0].Folder))
	}
	return done, err
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

// undo kills the entry's child if it still runs. For the harness's own entry it only returns a line.
func undo(e Entry) (string, error) {
	switch {
	case e.Harness != nil:
		return fmt.Sprintf("%s (pid %d) ended without cleaning up", e.Harness.Command, e.Harness.PID), nil
	case e.Child == nil || !e.Child.Alive():
		return "", nil
	}
	if err := End(*e.Child); err != nil {
		return "", err
	}
	return fmt.Sprintf("ended %s (pid %d)", e.Child.Command, e.Child.PID), nil
}

// End kills a process that is not our child, and waits until it is gone.
func End(id Identity) error {
	// Open the handle before the identity check: on systems with process handles, the number cannot be reused in between.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	if !id.Alive() {
		return nil
	}
	if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot end %s (pid %d): %w", id.Command, id.PID, err)
	}
	for begin := time.Now(); id.Alive(); time.Sleep(PollEvery) {
		if time.Since(begin) > Timeout {
			return fmt.Errorf("%s (pid %d) does not end", id.Command, id.PID)
		}
	}
	return nil
}

func removeFolder(folder string) (string, error) {
	if !strings.HasPrefix(filepath.Base(folder), FolderPrefix) {
		return "", fmt.Errorf("%s is on record as a run's folder and does not have the name of one: not removed", folder)
	}
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return "removed " + folder, nil
}
