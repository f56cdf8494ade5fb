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

// What lies in a server's volume. compose/redis.conf and compose/serve.sh name
// the same.
const (
	diskFolder   = "disk"              // the server's own folder
	settingsFile = "settings/run.conf" // what its redis.conf includes
	controlFile  = "control"           // the preload shim's; made last: the server waits for it
	againFile    = "again"             // while it is there, the container will not end with its server
)

// retireWithin bounds the wait for a retired server's end.
const retireWithin = 5 * time.Second

// machines are what the servers run on: a clock and a disk each, commanded
// through the preload shim.
type machines struct {
	volumes string

	mu       sync.Mutex
	controls map[string]*shim.Control // by server
}

// newMachines makes a machine, as new, for every volume in a folder.
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

// retire announces that a server will end: it takes the control file away, so that no
// other starts before renew, and leaves word that one will.
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

// awaitRetired returns once a server that was retired has ended: its container
// takes the file away then.
func (m *machines) awaitRetired(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, retireWithin)
	defer cancel()
	err := realtime.Poll(ctx, time.Millisecond, func() (bool, error) {
		_, err := os.Stat(filepath.Join(m.volumes, server, againFile))
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("the server of %s has not ended for %s: %w", server, retireWithin, err)
	}
	return nil
}

// forget gives up the control of a server, and says where its volume is.
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

// renew empties a volume, and puts into it what a server needs to start. One that has waited
// for an end, and whose caller has lost patience, must not take away what the server has got
// since: it would run without a clock that anybody commands.
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

// keep adds to what a server's redis.conf includes.
func (m *machines) keep(_ context.Context, more Machine) (done none, err error) {
	if _, err := m.of(more.Server); err != nil {
		return done, err
	}
	f, err := os.OpenFile(filepath.Join(m.volumes, more.Server, settingsFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return done, err
	}
	_, err = f.WriteString(more.Settings)
	return done, errors.Join(err, f.Close())
}

// control makes a control file, whole from the first moment.
func (m *machines) control(server, file string) error {
	c, err := shim.Create(file + ".new")
	if err != nil {
		return err
	}
	m.controls[server] = c
	return os.Rename(file+".new", file)
}

// empty removes all that is in a folder.
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

// of gives the control of a server.
func (m *machines) of(server string) (*shim.Control, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.controls[server]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("there is no machine of %q", server)
}

// setClock sets a server's clock, and gives what it shows, whether the server runs or not.
func (m *machines) setClock(_ context.Context, s ClockChange) (now int64, err error) {
	c, err := m.of(s.Server)
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

// disturb sets every fault of a disk, and says what they have done since its
// machine was made.
func (m *machines) disturb(_ context.Context, d Disk) (cluster.Disturbed, error) {
	c, err := m.of(d.Server)
	if err != nil {
		return cluster.Disturbed{}, err
	}
	return c.Disturb(d.DiskFaults)
}

func (m *machines) cutPower(_ context.Context, server string) (lost int64, err error) {
	c, err := m.of(server)
	if err != nil {
		return 0, err
	}
	return c.CutPower(filepath.Join(m.volumes, server, diskFolder))
}
