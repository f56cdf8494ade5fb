package virtual

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// TestNativesAreWhatLocksSend: a text that is not theirs any more would be of no use, and its lock slow again.
func TestNativesAreWhatLocksSend(t *testing.T) {
	var ours strings.Builder
	for _, file := range []string{"redlock/server/server.go", "harness/locks/builtin/single.go", "harness/client/store.go"} {
		text, err := os.ReadFile("../../../" + file)
		require.NoError(t, err)
		ours.Write(text)
	}
	for _, s := range script.Natives {
		require.Contains(t, ours.String(), s.Text)
	}
}

// pair is two nodes to which the same happens. One of them is handed to miniredis,
// and so all its scripts to Lua.
type pair struct {
	now         int64
	scheduler   *scheduler.Scheduler
	native, lua *Node
	toNative    *conn
	toLua       *conn
}

func newPair(setting cluster.Persistence) *pair {
	p := &pair{}
	clock := func() int64 { return p.now }
	p.scheduler = scheduler.RealTime()
	p.native, p.lua = newNode("n1", 1, releases[0], setting, clock, p.scheduler, 0), newNode("n1", 1, releases[0], setting, clock, p.scheduler, 0)
	p.connect()
	return p
}

// connect makes new connections.
func (p *pair) connect() { p.toNative, p.toLua = p.native.newConn(nil), p.lua.newConn(nil) }

func (p *pair) end() {
	p.native.end()
	p.lua.end()
	p.scheduler.End()
}

// do gives both a command. They answer alike, and are alike then.
func (p *pair) do(t require.TestingT, args ...string) string {
	p.now++
	got := string(p.native.execute(p.toNative, args))
	p.lua.advance()
	p.toLua.reply.Reset()
	p.lua.server.Server().Dispatch(p.toLua.peer, args)
	p.toLua.peer.Flush()
	p.lua.journal()
	require.Equal(t, p.toLua.reply.String(), got, "%q", args)
	p.alike(t)
	return got
}

func (p *pair) alike(t require.TestingT) {
	require.Equal(t, p.lua.keys, p.native.keys)
	require.Equal(t, p.lua.disk, p.native.disk)
}

// TestEachNativeIsTaken where its node knows it and its course is plain.
func TestEachNativeIsTaken(t *testing.T) {
	for i, s := range script.Natives {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			p := newPair(cluster.PersistEverysec)
			defer p.end()
			words := append([]string{strconv.Itoa(s.Keys), "k", "l"}[:1+s.Keys], []string{"7", "8"}[:s.Args]...)
			taken := func(name, text string) bool {
				return p.native.native(p.native.newConn(nil), append([]string{name, text}, words...))
			}
			require.False(t, taken("EVALSHA", script.Digest(s.Text)), "the node does not know it")
			require.True(t, taken("EVAL", s.Text))
			require.True(t, taken("EVALSHA", script.Digest(s.Text)))
		})
	}
}

// TestNativesDoWhatLuaDoes gives both anything that a client can send, at any time.
func TestNativesDoWhatLuaDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(rapid.SampledFrom(cluster.Persistences).Draw(t, "persistence"))
		defer p.end()
		key := rapid.SampledFrom([]string{"k", "l"})
		value := rapid.SampledFrom([]string{"a", "b", "", "7", "8", "a\r\nb", "900", "+8", "007", "1e1", "0x10", " 7", "-5",
			"9007199254740993", "99999999999999999999"})
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) {
				s := rapid.SampledFrom(script.Natives).Draw(t, "script")
				name, text := "EVAL", s.Text
				if rapid.IntRange(0, 3).Draw(t, "by digest") > 0 {
					name, text = "EVALSHA", script.Digest(s.Text)
				}
				args := []string{rapid.SampledFrom([]string{name, strings.ToLower(name), name + "_RO"}).Draw(t, "name"), text}
				if rapid.IntRange(0, 9).Draw(t, "misused") == 0 {
					args = append(args, rapid.SliceOfN(value, 0, 4).Draw(t, "words")...)
				} else {
					args = append(args, strconv.Itoa(s.Keys))
					args = append(args, rapid.SliceOfN(key, s.Keys, s.Keys).Draw(t, "keys")...)
					args = append(args, rapid.SliceOfN(value, s.Args, s.Args).Draw(t, "arguments")...)
				}
				p.do(t, args...)
			},
			"load": func(t *rapid.T) {
				p.do(t, "SCRIPT", "LOAD", rapid.SampledFrom(script.Natives).Draw(t, "script").Text)
			},
			"exists": func(t *rapid.T) {
				p.do(t, "SCRIPT", "EXISTS", script.Digest(rapid.SampledFrom(script.Natives).Draw(t, "script").Text))
			},
			"set": func(t *rapid.T) { p.do(t, "SET", key.Draw(t, "key"), value.Draw(t, "value")) },
			"lend": func(t *rapid.T) {
				p.do(t, "SET", key.Draw(t, "key"), value.Draw(t, "value"), "PX", strconv.Itoa(rapid.IntRange(1, 1000).Draw(t, "ms")))
			},
			"other": func(t *rapid.T) {
				p.do(t, rapid.SampledFrom([][]string{{"SCRIPT", "FLUSH"}, {"HELLO", "3"}, {"HELLO", "2"}, {"MULTI"}, {"EXEC"},
					{"DISCARD"}, {"WATCH", "k"}, {"PTTL", "k"}, {"MGET", "k", "l"}, {"SELECT", "1"}}).Draw(t, "command")...)
			},
			"time":    func(t *rapid.T) { p.now += rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "later") },
			"connect": func(*rapid.T) { p.connect() },
			"restart": func(t *rapid.T) {
				for _, n := range []*Node{p.native, p.lua} {
					require.NoError(t, n.Kill(t.Context()))
					require.NoError(t, n.Start(t.Context()))
				}
				p.connect()
				p.alike(t)
			},
		})
	})
}

func TestTravelTimesLieAroundTheBase(t *testing.T) {
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

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// write does what a node does before and after a command.
func write(d *disk, now int64, key string) {
	d.settle(now)
	d.write(now, key, &record{value: "v"})
}

// kept names the test's keys that a server would find.
func kept(d *disk) (names string) {
	found := d.load()
	for _, key := range []string{"early", "late"} {
		if _, ok := found[key]; ok && names != "" {
			names += " " + key
		} else if ok {
			names = key
		}
	}
	return names
}

func TestEverysecSyncsOnceASecondOfUptime(t *testing.T) {
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
			const began = 3*sec + 7 // ticks count from the start, not from the run's
			d := newDisk(cluster.PersistEverysec)
			d.start(began)
			write(d, began+c.written, "early")
			d.settle(began + c.ended)
			d.powerLoss()
			require.Equal(t, c.kept, kept(d) != "")
		})
	}
}

func TestPageCacheOutlivesTheProcessButIsNotSyncedByIt(t *testing.T) {
	d := newDisk(cluster.PersistEverysec)
	d.start(0)
	write(d, 100*ms, "early")
	d.kill()
	d.start(10 * sec) // seconds in which no server ran, and none synced
	require.Equal(t, "early", kept(d))
	d.settle(10*sec + 500*ms)
	d.powerLoss()
	require.Equal(t, "", kept(d), "the first tick of the new server is at 11 s")
}

func TestRDBSavesAtItsSavePoints(t *testing.T) {
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
				write(d, sec, "early")
			}
			d.settle(c.after)
			d.kill()
			require.Equal(t, c.saved, kept(d) != "")
		})
	}
}

func TestExpiryIsLoggedButIsNoChange(t *testing.T) {
	d := newDisk(cluster.PersistRDB)
	d.start(0)
	write(d, 1, "early")
	d.shutdown(sec)
	d.start(sec)
	d.expired(2*sec, "early")
	require.Zero(t, d.dirty)
	require.Equal(t, "", kept(d))
	d.kill()
	require.Equal(t, "early", kept(d), "the RDB file still has it")
}

// Dial gives what connects a client to nodes over its links.
func Dial(c *Cluster, client string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.dialer(client)
}
