package virtual

import (
	"maps"
	"math"
	"time"

	"example.org/lockproof/harness/cluster"
)

// disk is a node's storage under its persistence setting.
//
//   - Every AOF setting writes before it replies, so a SIGKILL loses no writes: the
//     page cache outlives the process. A power loss loses the writes that were not
//     fsynced: none with always; with everysec, those since the last of the
//     fsyncs that come once a second from the server's start; with no, all
//     since the last clean shutdown.
//   - RDB keeps the last save at a save point or a clean shutdown, synced.
//   - none keeps no keys.
//
// That is the worst legal outcome of a power loss: a kernel may have written more. The model omits that everysec can
// postpone its write during a slow fsync, and that a rewrite can suspend always; clusters with real servers show those.
// replication_test.go compares the model with redis-server.
type disk struct {
	setting  cluster.Persistence
	keys     map[string]record // as the last command left them
	synced   map[string]record // keys that survive a power loss
	unsynced int64             // length of the other writes, in RESP as in an AOF
	wroteAt  int64             // true time of the last write

	started int64 // true time of the server's start
	// written counts all writes; synchronous counts those before the last fsync.
	written, synchronous int64

	saved int64 // RDB: time of the last save, or of the start
	dirty int   // RDB: number of changes since

	// where returns the server's position in its sequence of writes; nil: the server does not replicate. An RDB file
	// holds the position besides the keys, so a save stores it.
	where    func() position
	position position
}

// position is a position in a sequence of writes; the zero value means none.
type position struct {
	id     string // of the sequence
	offset int64
}

// savePoints are Redis's defaults: save after this time if this many keys changed.
var savePoints = []struct {
	after   time.Duration
	changes int
}{{time.Hour, 1}, {5 * time.Minute, 100}, {time.Minute, 10_000}}

func newDisk(setting cluster.Persistence) *disk {
	return &disk{setting: setting, keys: map[string]record{}, synced: map[string]record{}}
}

// start records that a server began to use the disk.
func (d *disk) start(now int64) {
	d.started, d.saved, d.dirty = now, now, 0
}

// write stores a key, or removes it (nil), at a true time. settle has been called for that time.
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

// rewritten records a write of a key's old value, which an AOF holds again.
func (d *disk) rewritten(now int64) {
	d.written++
	d.wroteAt = now
	if d.setting == cluster.PersistAlways {
		d.sync()
	}
}

// expired removes an expired key. Redis logs it as a DEL, but does not count it as a change for save points.
func (d *disk) expired(now int64, key string) {
	d.write(now, key, nil)
	d.dirty--
}

// settle applies the running server's background writes until now.
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

// lastTick is the time of everysec's last fsync.
func (d *disk) lastTick(now int64) int64 {
	up := now - d.started
	if up < int64(time.Second) {
		return math.MinInt64
	}
	return now - up%int64(time.Second)
}

// untilTick is the time until everysec's next fsync; 0 with another setting.
func (d *disk) untilTick(now int64) time.Duration {
	if d.setting != cluster.PersistEverysec {
		return 0
	}
	return time.Second - time.Duration(now-d.started)%time.Second
}

// appends reports whether the server has an append-only file.
func (d *disk) appends() bool { return !d.loadsSnapshot() }

// sync is an fsync.
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
		d.position = d.where()
	}
}

// loadsSnapshot reports whether a starting server loads an RDB file.
func (d *disk) loadsSnapshot() bool {
	return d.setting == cluster.PersistNone || d.setting == cluster.PersistRDB
}

// forget drops unsynced writes.
func (d *disk) forget() { d.keys, d.unsynced = maps.Clone(d.synced), 0 }

// flushed follows a FLUSHALL: a server with save points saves at once.
func (d *disk) flushed(now int64) {
	if d.setting == cluster.PersistRDB {
		d.save(now)
	}
}

// dumped records a snapshot for a replica. A server without an AOF loads the same file.
func (d *disk) dumped(now int64) {
	if d.loadsSnapshot() {
		d.save(now)
	}
}

// replaced replaces a replica's keys with a full copy: the replica keeps the received file, or rewrites its AOF from
// it, in the model at once.
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

// shutdown ends the server cleanly. A server with save points saves, and one with an AOF flushes and fsyncs it.
func (d *disk) shutdown(now int64) {
	if d.setting == cluster.PersistNone {
		d.forget()
		return
	}
	d.save(now)
}

// powerLoss ends the server and its machine, and returns the length of the lost writes in bytes.
func (d *disk) powerLoss() (lost int64) {
	lost = d.unsynced
	d.forget()
	return lost
}
