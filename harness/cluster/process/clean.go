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

// Clean ends the processes and removes the folders of harnesses that died
// before they could do so themselves, and says what it did, one line each. What
// they had on a Docker engine is not its concern: see Stranded. It
// touches nothing of a harness that lives, and no process that is not, by
// number, start time and name, the one on record.
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

// cleanRun cleans up after the run of one record.
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

// Stranded gives the records of dead harnesses that had projects on a Docker
// engine, with the engine's name. Once these are gone, Forget removes a record.
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

// Forget removes the record of a dead harness that has nothing left on an engine.
// It may have died since the last Clean: what else it left goes first, for
// nobody would know of it without the record.
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

// undo ends the child that a record's line is about, if it still runs, or tells
// whose run the record is.
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

// End kills a process that is no child of ours, and returns once it is gone.
func End(id Identity) error {
	// The handle is taken first and the identity checked afterwards: where
	// the system has such handles, the number cannot pass to a stranger in
	// between.
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

// removeFolder removes the folder of a run.
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
