package virtual

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/cluster"
)

func TestTravelTimes_WithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "base"))
		grid := time.Duration(rapid.SampledFrom([]int{0, 1, 1000}).Draw(t, "grid"))
		travel := newTravel(rapid.Uint64().Draw(t, "seed"), base, grid)
		for message := range 20 {
			took := int64(travel.message(message%2 == 0, message%3, message))
			require.Greater(t, took, travel.base-travel.grid)
			require.LessOrEqual(t, took, travel.base+travel.base/2)
			require.Zero(t, took%travel.grid)
		}
	})
}

// Each seed, connection and direction has its own times: no two messages of a trial should fall on one instant.
func TestTravelTimes_DifferByTheirWords(t *testing.T) {
	seen := map[time.Duration]bool{}
	for seed := range uint64(3) {
		travel := newTravel(mix(seed, "c1", "n1"), time.Hour, 1)
		for _, toNode := range []bool{true, false} {
			for message := range 4 {
				seen[travel.message(toNode, message/2, message%2)] = true
			}
		}
	}
	require.Len(t, seen, 3*2*4)
}

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// write writes a key as a node does.
func write(d *disk, now int64) {
	d.settle(now)
	d.write(now, "key", &record{kind: kindString, value: "v"})
}

// kept reports whether the disk has the key.
func kept(d *disk) bool {
	_, ok := d.keys["key"]
	return ok
}

func TestEverysec_SyncsEachSecondOfUptime(t *testing.T) {
	for _, c := range []struct {
		name           string
		written, ended int64
		kept           bool
	}{
		{"before the first tick", 100 * ms, 999 * ms, false},
		{"at the tick", 100 * ms, 1000 * ms, true},
		{"written at the tick itself", 1000 * ms, 1000 * ms, true},
		{"written after it", 1001 * ms, 1999 * ms, false},
		{"after many ticks", 1001 * ms, 77 * sec, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			const began = 3*sec + 7 // ticks count from the server's start, not from the run's
			d := newDisk(cluster.PersistEverysec)
			d.start(began)
			write(d, began+c.written)
			d.settle(began + c.ended)
			d.powerLoss()
			require.Equal(t, c.kept, kept(d))
		})
	}
}

func TestPageCache_Kill_SurvivesUnsynced(t *testing.T) {
	d := newDisk(cluster.PersistEverysec)
	d.start(0)
	write(d, 100*ms)
	d.kill()
	d.start(10 * sec) // without a server there was no fsync
	require.True(t, kept(d))
	d.settle(10*sec + 500*ms)
	d.powerLoss()
	require.False(t, kept(d), "the first tick of the new server is at 11 s")
}

func TestRDB_SavesAtSavePoints(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes int
		after   int64
		saved   bool
	}{
		{"10000 changes, a minute", 10_000, 60*sec + 1, true},
		{"10000 changes, less than a minute", 10_000, 59 * sec, false},
		{"9999 changes, a minute", 9_999, 60*sec + 1, false},
		{"100 changes, five minutes", 100, 300*sec + 1, true},
		{"one change, an hour", 1, 3600*sec + 1, true},
		{"one change, half an hour", 1, 1800 * sec, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDisk(cluster.PersistRDB)
			d.start(0)
			for range c.changes {
				write(d, sec)
			}
			d.settle(c.after)
			d.kill()
			require.Equal(t, c.saved, kept(d))
		})
	}
}

func TestExpiry_LoggedButNotCountedAsChange(t *testing.T) {
	d := newDisk(cluster.PersistRDB)
	d.start(0)
	write(d, 1)
	d.shutdown(sec)
	d.start(sec)
	d.expired(2*sec, "key")
	require.Zero(t, d.dirty)
	require.False(t, kept(d))
	d.kill()
	require.True(t, kept(d), "the RDB file still has it")
}

// Dial returns the function that connects a client to nodes over its links.
func Dial(c *Cluster, client string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.dialer(client)
}
