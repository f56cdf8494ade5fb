package shim

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// synced tells how long each file was when the last fsync of it that succeeded
// began. Files that were never synced are not in it.
func (l *layout) synced() (map[File]int64, error) {
	if lost := atomic.LoadUint64(&l.syncsLost); lost > 0 {
		return nil, fmt.Errorf("the shim could not note %d fsyncs: it keeps %d files, and needs the statx system call",
			lost, len(l.files))
	}
	synced := map[File]int64{}
	for i := range l.files {
		// One file may have two entries: see control.h.
		if e := &l.files[i]; atomic.LoadUint32(&e.state) == fileReady {
			synced[e.name] = max(synced[e.name], atomic.LoadInt64(&e.length))
		}
	}
	return synced, nil
}

// CutPower cuts every file below a folder to what a power cut would leave: its
// length when it was last synced, nothing if it never was. It says how many
// bytes that took. The servers that used the folder must have been killed: they
// would go on writing.
func (c *Control) CutPower(folder string) (lost int64, err error) {
	err = c.with(func(l *layout) error {
		synced, err := l.synced()
		if err != nil {
			return err
		}
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			cut, err := cutTo(path, synced)
			lost += cut
			return err
		})
		if err != nil {
			return fmt.Errorf("cut to what was synced: %w", err)
		}
		return nil
	})
	return lost, err
}

// cutTo cuts a file to its synced length.
func cutTo(path string, synced map[File]int64) (lost int64, err error) {
	name, length, err := identify(path)
	if err != nil {
		return 0, err
	}
	if lost = length - synced[name]; lost <= 0 {
		return 0, nil // the server itself has cut it since
	}
	return lost, os.Truncate(path, synced[name])
}
