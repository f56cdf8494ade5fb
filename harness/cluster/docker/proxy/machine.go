package proxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/cluster/shim"
)

// Files of a server's volume, as in compose/redis.conf and compose/serve.sh.
const (
	diskFolder   = "disk"              // the server's own folder
	settingsFile = "settings/run.conf" // included by its redis.conf
	controlFile  = "control"           // the preload shim's; created last, because the server waits for it
	againFile    = "again"             // while it exists, the container outlives its server
)

// retireTimeout bounds the wait for a retired server's end.
const retireTimeout = 5 * time.Second

// machines are the servers' clocks and disks, controlled through the preload shim.
type machines struct {
	volumes string

	mu       sync.Mutex
	controls map[string]*shim.Control // by server
}

// newMachines makes a new machine for every volume in a folder.
func newMachines(volumes string) (*machines, error) {
	m := &machines{volumes: volumes, controls: map[string]*shim.Control{}}
	entries, err := os.ReadDir(volumes)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if _, err := m.renew(context.Background(), Machine{Server: e.Name()}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// retire prepares a server's end. It removes the control file, so that no server starts before renew, and creates
// againFile, because another will.
func (m *machines) retire(_ context.Context, server string) (none, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	volume, err := m.forget(server)
	if err != nil {
		return none{}, err
	}
	if err := os.Remove(filepath.Join(volume, controlFile)); err != nil {
		return none{}, err
	}
	return none{}, os.WriteFile(filepath.Join(volume, againFile), nil, 0o644)
}

// awaitRetired waits for the end of a retired server: then its container removes againFile.
func (m *machines) awaitRetired(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, retireTimeout)
	defer cancel()
	err := realtime.Poll(ctx, time.Millisecond, func() (bool, error) {
		_, err := os.Stat(filepath.Join(m.volumes, server, againFile))
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("the server of %s has not ended for %s: %w", server, retireTimeout, err)
	}
	return nil
}

// forget closes a server's control, and returns the path of its volume.
func (m *machines) forget(server string) (volume string, err error) {
	if server != filepath.Base(server) || strings.Trim(server, "./\\") == "" {
		return "", fmt.Errorf("%q is no server's name", server)
	}
	if c := m.controls[server]; c != nil {
		if err := c.Close(); err != nil {
			return "", err
		}
		delete(m.controls, server)
	}
	return filepath.Join(m.volumes, server), nil
}

// renew empties a volume and writes the files that a server needs to start. If its caller gave up during the wait for
// the server's end, it must not remove the files of a later renew: the server's clock would be out of control.
func (m *machines) renew(ctx context.Context, want Machine) (done none, err error) {
	if want.Retired {
		if err := m.awaitRetired(ctx, want.Server); err != nil {
			return done, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return done, ctx.Err()
	}
	volume, err := m.forget(want.Server)
	if err != nil {
		return done, err
	}
	if err := empty(volume); errors.Is(err, fs.ErrNotExist) {
		return done, fmt.Errorf("the volume of %s is not mounted at %s", want.Server, volume)
	} else if err != nil {
		return done, err
	}
	settings := filepath.Join(volume, settingsFile)
	for _, dir := range []string{filepath.Join(volume, diskFolder), filepath.Dir(settings)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return done, err
		}
	}
	if err := os.WriteFile(settings, []byte(want.Settings), 0o644); err != nil {
		return done, err
	}
	return done, m.control(want.Server, filepath.Join(volume, controlFile))
}

// keep appends to a server's settings.
func (m *machines) keep(_ context.Context, more Machine) (done none, err error) {
	if _, err := m.controlOf(more.Server); err != nil {
		return done, err
	}
	f, err := os.OpenFile(filepath.Join(m.volumes, more.Server, settingsFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return done, err
	}
	_, err = f.WriteString(more.Settings)
	return done, errors.Join(err, f.Close())
}

// control creates a complete control file atomically.
func (m *machines) control(server, file string) error {
	c, err := shim.Create(file + ".new")
	if err != nil {
		return err
	}
	m.controls[server] = c
	return os.Rename(file+".new", file)
}

// empty removes a folder's contents.
func empty(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (m *machines) controlOf(server string) (*shim.Control, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.controls[server]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("there is no machine of %q", server)
}

// setClock sets a server's clock, and returns its reading, whether the server runs or not.
func (m *machines) setClock(_ context.Context, s ClockChange) (now int64, err error) {
	c, err := m.controlOf(s.Server)
	if err != nil {
		return 0, err
	}
	if s.Jump != 0 || s.Rate != 0 {
		if err := c.SetClock(s.Jump, s.Rate); err != nil {
			return 0, err
		}
	}
	return c.Now()
}

// disturb sets all faults of a disk, and returns the counts of their effects since the machine was made.
func (m *machines) disturb(_ context.Context, d Disk) (cluster.Disturbed, error) {
	c, err := m.controlOf(d.Server)
	if err != nil {
		return cluster.Disturbed{}, err
	}
	return c.Disturb(d.DiskFaults)
}

func (m *machines) cutPower(_ context.Context, server string) (lost int64, err error) {
	c, err := m.controlOf(server)
	if err != nil {
		return 0, err
	}
	return c.CutPower(filepath.Join(m.volumes, server, diskFolder))
}
