package realcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/cluster/shim"
)

// Machine is what outlives a server's processes: a folder of this host with the settings and the disk, and the clock
// and the disk's faults, which the preload shim controls.
type Machine struct {
	Folder  string
	control *shim.Control // nil without the shim: the clock is this host's
}

// Disk is the folder for the server's data.
func (m *Machine) Disk() string { return filepath.Join(m.Folder, "disk") }

// SettingsFile has the server's lines of redis.conf.
func (m *Machine) SettingsFile() string { return filepath.Join(m.Folder, "redis.conf") }

// ControlFile is the shim's. It appears last, and complete: a server may wait for it.
func (m *Machine) ControlFile() string { return filepath.Join(m.Folder, "control") }

// Reset makes an empty disk, a correct clock and these settings. The server must be down.
func (m *Machine) Reset(settings string, shimmed bool) error {
	if err := m.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(m.Folder, 0o700); err != nil {
		return err
	}
	left, err := os.ReadDir(m.Folder) // not the folder itself, which may be mounted in a container
	for _, file := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(m.Folder, file.Name())))
	}
	if err == nil {
		err = os.Mkdir(m.Disk(), 0o700)
	}
	if err == nil {
		err = os.WriteFile(m.SettingsFile(), []byte(settings), 0o600)
	}
	if err == nil && shimmed {
		m.control, err = shim.Create(m.ControlFile())
	}
	return err
}

// keep adds lines to the settings, for the server's next start.
func (m *Machine) keep(lines string) error {
	f, err := os.OpenFile(m.SettingsFile(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(lines)
	return errors.Join(err, f.Close())
}

// Control is the shim's control of the server; nil without the shim.
func (m *Machine) Control() *shim.Control { return m.control }

// Now reads the wall clock, whether a server runs or not.
func (m *Machine) Now() (time.Time, error) {
	if m.control == nil {
		return time.Now(), nil
	}
	now, err := m.control.Now()
	return time.Unix(0, now), err
}

// Close gives up the control. A running server keeps its clock and its disk's faults.
func (m *Machine) Close() error {
	if m.control == nil {
		return nil
	}
	err := m.control.Close()
	m.control = nil
	return err
}

// SetClock makes the node's wall clock jump and sets its rate. It checks the effect by TIME. A node that is down
// restarts with that clock.
func (n *Node) SetClock(ctx context.Context, jump time.Duration, rate float64) error {
	return n.Do(ctx, "set the clock of", func(ctx context.Context) error {
		if err := n.Shimmed(cluster.AbilityClock); err != nil {
			return err
		}
		before, err := n.Machine.SetClock(jump, rate)
		if err != nil || n.awake(ctx) != nil {
			return err // a node that is down or paused cannot answer TIME
		}
		return n.Machine.CheckClock(ctx, n.Address(), before)
	})
}

// SetClock makes the wall clock jump, sets its rate (0 keeps it), and returns its reading. It needs the shim.
func (m *Machine) SetClock(jump time.Duration, rate float64) (time.Time, error) {
	if err := m.control.SetClock(jump, rate); err != nil {
		return time.Time{}, err
	}
	return m.Now()
}

// CheckClock waits until the TIME of the machine's server shows its clock, of which before is an earlier reading.
// Valkey 9.1 reads its clock only now and then.
func (m *Machine) CheckClock(ctx context.Context, address string, before time.Time) error {
	bounded, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	var off time.Duration
	err := realtime.Poll(bounded, pollEvery, func() (bool, error) {
		shown, err := wallClock(ctx, address)
		if err != nil {
			return false, err
		}
		after, err := m.Now()
		off = shown.Sub(before)
		return off >= -time.Microsecond && !shown.After(after), err // TIME is in whole microseconds
	})
	if err != nil && errors.Is(err, bounded.Err()) {
		return fmt.Errorf("TIME is %v off its clock: the server is not under the preload shim, or not under this one", off)
	}
	return err
}

// clockTimeout bounds the time in which a server reads its clock.
const clockTimeout = time.Second

func (n *Node) Clock(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var now time.Time
	err := n.awake(ctx)
	if errors.Is(err, cluster.ErrDown) {
		now, err = n.Machine.Now()
	} else if err == nil {
		now, err = wallClock(ctx, n.Address())
	}
	if err != nil {
		return 0, n.failed("read the clock of", err)
	}
	return n.cluster.Wall(now), nil
}

func (n *Node) Disturb(change func(*cluster.DiskFaults)) (done cluster.Disturbed, err error) {
	err = n.Do(context.Background(), "disturb the disk of", func(context.Context) error {
		if err := n.Shimmed(cluster.AbilityDisk); err != nil {
			return err
		}
		if change != nil {
			change(&n.disk)
		}
		done, err = n.Machine.control.Disturb(n.disk)
		return err
	})
	return done, err
}

// stuck is an fsync's delay on a stuck disk, longer than any run.
const stuck = 1000 * time.Hour

// PowerLoss kills the server, and truncates each file on its disk to its length at the last sync. That
// is one legal state of a disk after a power cut, and the worst for Redis: a kernel may have written more. A container
// takes a while to end, so the disk is stuck meanwhile: data that is unsynced at the beginning is lost.
func (n *Node) PowerLoss(ctx context.Context) (lost int64, err error) {
	err = n.whileUp(ctx, "cut the power of", func(ctx context.Context) error {
		if err := n.Shimmed(cluster.AbilityPowerLoss); err != nil {
			return err
		}
		hung, control, wanted := n.disk, n.Machine.control, n.wanted
		hung.Slow, n.wanted = stuck, false
		if _, err := control.Disturb(hung); err != nil {
			n.wanted = wanted
			return err
		}
		err := n.Host.Kill(ctx)
		if err == nil {
			lost, err = control.CutPower(n.Machine.Disk())
		} else {
			n.wanted = wanted
		}
		if _, healed := control.Disturb(n.disk); err != nil || healed != nil {
			return errors.Join(err, healed)
		}
		n.markDown()
		return nil
	})
	return lost, err
}
