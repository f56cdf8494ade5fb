package virtual

import (
	"maps"
	"math"
	"time"

	"example.org/lockproof/harness/cluster"
)

// disk is what a node's persistence setting keeps, and through what.
//
//   - Every AOF setting writes before it replies, so a SIGKILL loses nothing: the
//     page cache outlives the process. A power loss loses what was not fsynced:
//     nothing with always; with everysec, what was written since the last of the
//     fsyncs that come once a second from the server's start; with no, everything
//     since the last clean shutdown.
//   - RDB keeps what a save point or a clean shutdown saved, synced.
//   - none keeps nothing.
//
// That is one legal outcome of a power loss, the worst one: a kernel may have
// written more. What the model leaves out is that everysec can postpone its
// write while an fsync is slow, and that a rewrite can suspend always; the
// clusters with real servers show those. replication_test.go holds the model
// against redis-server.
type disk struct {
	setting  cluster.Persistence
	keys     map[string]record // as the last command left them
	synced   map[string]record // those that survive everything
	unsynced int64             // the length in RESP, as an AOF holds them, of the writes that do not
	wroteAt  int64             // when the last write was made, on the true clock

	started int64 // when the server started, on the true clock
	// written is how many writes were made, and synchronous how many of them were on the
	// disk when it was synced last, both from the first on.
	written, synchronous int64

	saved int64 // RDB: when it last saved, or started
	dirty int   // RDB: how many changes were made since

	// where gives the server's place in its sequence of writes, which an RDB file tells
	// beside the keys (nil: it has no part in replication), and saving notes.
	where func() place
	place place
}

// place is one in a sequence of writes; the zero place is none.
type place struct {
	id     string // of the sequence
	offset int64
}

// savePoints are Redis's defaults: save after so long if so many keys changed.
var savePoints = []struct {
	after   time.Duration
	changes int
}{{time.Hour, 1}, {5 * time.Minute, 100}, {time.Minute, 10_000}}

func newDisk(setting cluster.Persistence) *disk {
	return &disk{setting: setting, keys: map[string]record{}, synced: map[string]record{}}
}

// start says that a server began to use the disk.
func (d *disk) start(now int64) {
	d.started, d.saved, d.dirty = now, now, 0
}

// write notes that a key got a value, or none (nil), at a time of the true
// clock. settle has been called for that time.
func (d *disk) write(now int64, key string, r *record) {
	if r == nil {
		delete(d.keys, key)
	} else {
		d.keys[key] = *r
	}
	d.wroteAt = now
	d.unsynced += respLength(key, r)
	d.dirty++
	d.written++
	if d.setting == cluster.PersistAlways {
		d.sync()
	}
}

// rewritten notes that a key was given the value that it had, which an AOF holds again.
func (d *disk) rewritten(now int64) {
	d.written++
	d.wroteAt = now
	if d.setting == cluster.PersistAlways {
		d.sync()
	}
}

// expired notes that a key passed its expiry. Redis logs it as a DEL, but does
// not count it as a change to be saved.
func (d *disk) expired(now int64, key string) {
	d.write(now, key, nil)
	d.dirty--
}

// settle does what a running server has done to its disk in the background
// until now.
func (d *disk) settle(now int64) {
	switch d.setting {
	case cluster.PersistEverysec:
		if d.lastTick(now) >= d.wroteAt {
			d.sync()
		}
	case cluster.PersistRDB:
		for _, p := range savePoints {
			due := max(d.saved+int64(p.after), d.wroteAt)
			if d.dirty >= p.changes && now > due {
				d.save(due)
			}
		}
	}
}

// lastTick is when everysec last synced.
func (d *disk) lastTick(now int64) int64 {
	up := now - d.started
	if up < int64(time.Second) {
		return math.MinInt64
	}
	return now - up%int64(time.Second)
}

// untilTick is how long it takes until everysec syncs next; 0 with another setting.
func (d *disk) untilTick(now int64) time.Duration {
	if d.setting != cluster.PersistEverysec {
		return 0
	}
	return time.Second - time.Duration(now-d.started)%time.Second
}

// appends says whether the server has an append-only file.
func (d *disk) appends() bool { return !d.loadsSnapshot() }

// sync makes everything written so far survive.
func (d *disk) sync() {
	d.synchronous = d.written
	if d.unsynced > 0 {
		d.synced, d.unsynced = maps.Clone(d.keys), 0
	}
}

// save is sync for RDB.
func (d *disk) save(now int64) {
	d.sync()
	d.saved, d.dirty = now, 0
	if d.where != nil {
		d.place = d.where()
	}
}

// loadsSnapshot says whether a server that starts loads an RDB file.
func (d *disk) loadsSnapshot() bool {
	return d.setting == cluster.PersistNone || d.setting == cluster.PersistRDB
}

// forget leaves what survives everything.
func (d *disk) forget() { d.keys, d.unsynced = maps.Clone(d.synced), 0 }

// flushed says that FLUSHALL ran: a server with save points saves at once.
func (d *disk) flushed(now int64) {
	if d.setting == cluster.PersistRDB {
		d.save(now)
	}
}

// dumped says that the server wrote a snapshot for a replica. It is the file that a server
// without an AOF loads.
func (d *disk) dumped(now int64) {
	if d.loadsSnapshot() {
		d.save(now)
	}
}

// replaced says that a replica took over a copy: it keeps the file that it was sent, or
// rewrites its AOF from it, which the model takes for done at once.
func (d *disk) replaced(now int64, keys map[string]record) {
	d.synced = keys
	d.forget()
	d.save(now)
}

// kill ends the server without a chance to save.
func (d *disk) kill() {
	if d.loadsSnapshot() {
		d.forget()
	}
}

// shutdown ends it in good order. A server with save points saves, and one
// with an AOF flushes and fsyncs it.
func (d *disk) shutdown(now int64) {
	if d.setting == cluster.PersistNone {
		d.forget()
		return
	}
	d.save(now)
}

// powerLoss ends the server and its machine, and says how many bytes of writes
// it forgot.
func (d *disk) powerLoss() (lost int64) {
	lost = d.unsynced
	d.forget()
	return lost
}
