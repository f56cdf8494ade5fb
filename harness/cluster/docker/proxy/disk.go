package proxy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// settingsFile is the file in a server's volume that its redis.conf includes.
const settingsFile = "settings/run.conf"

// format gives a server, which must be down, an empty folder with settings.
func (s *Server) format(d Disk) error {
	volume := filepath.Join(s.Volumes, d.Server)
	if d.Server == "" || d.Server != filepath.Base(d.Server) {
		return fmt.Errorf("%q is no server's name", d.Server)
	}
	entries, err := os.ReadDir(volume)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the volume of %s is not mounted at %s", d.Server, volume)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(volume, e.Name())); err != nil {
			return err
		}
	}
	file := filepath.Join(volume, settingsFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(d.Settings), 0o644)
}
