package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/internal/needs"
)

// synced is how much of a file has been synced.
func (p *probe) synced(file string) int64 {
	name, _, err := identify(file)
	require.NoError(p.t, err)
	all, err := p.l.synced()
	require.NoError(p.t, err)
	return all[name]
}

// TestCutPowerOfAReusedInode: a new file that gets the inode of one that was
// synced and removed has nothing safe.
func TestCutPowerOfAReusedInode(t *testing.T) {
	p := newProbe(t)
	dir := t.TempDir()
	reused := false
	for i := range 20 {
		old, young := filepath.Join(dir, fmt.Sprintf("old%d", i)), filepath.Join(dir, fmt.Sprintf("young%d", i))
		p.ask("append", old, 100)
		p.ask("fsync", old)
		before, _, err := identify(old)
		require.NoError(t, err)
		p.ask("remove", old)
		p.ask("append", young, 100)
		after, _, err := identify(young)
		require.NoError(t, err)
		reused = reused || before.Inode == after.Inode
		if before != after {
			require.Zero(t, p.synced(young))
		}
	}
	if !reused {
		needs.Check(t, needs.System, errors.New("this file system does not use inodes again at once"))
	}
}

// TestTableFull: more files than the control has places for are no reason to
// lose too much.
func TestTableFull(t *testing.T) {
	p := newProbe(t)
	for i := range p.l.files {
		p.l.files[i].state = fileReady
	}
	file := filepath.Join(t.TempDir(), "aof")
	p.ask("append", file, 10)
	require.Equal(t, "ok", p.ask("fsync", file))
	_, err := p.CutPower(filepath.Dir(file))
	require.ErrorContains(t, err, "could not note 1 fsyncs")
}

// TestCutPowerIsExact draws what a server does to its files, and holds what a
// power cut leaves against a model.
func TestCutPowerIsExact(t *testing.T) {
	p := newProbe(t)
	type model struct{ length, synced int64 }
	rapid.Check(t, func(rt *rapid.T) {
		p.t = rt
		dir, err := os.MkdirTemp(t.TempDir(), "disk-")
		require.NoError(rt, err)
		files := map[string]*model{}
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		path := func(n string) string { return filepath.Join(dir, n) }
		existing := func(rt *rapid.T) (string, *model) {
			n := name.Draw(rt, "file")
			if files[n] == nil {
				rt.Skip("there is no such file")
			}
			return n, files[n]
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				n, length := name.Draw(rt, "file"), rapid.Int64Range(0, 5000).Draw(rt, "length")
				require.Equal(rt, "ok", p.ask("append", path(n), length))
				if files[n] == nil {
					files[n] = &model{}
				}
				files[n].length += length
			},
			"sync": func(rt *rapid.T) {
				n, m := existing(rt)
				require.Equal(rt, "ok", p.ask(rapid.SampledFrom([]string{"fsync", "fdatasync"}).Draw(rt, "how"), path(n)))
				m.synced = m.length
			},
			"truncate": func(rt *rapid.T) {
				n, m := existing(rt)
				m.length = rapid.Int64Range(0, m.length).Draw(rt, "to")
				require.Equal(rt, "ok", p.ask("truncate", path(n), m.length))
				m.synced = min(m.synced, m.length)
			},
			"rename": func(rt *rapid.T) {
				n, m := existing(rt)
				to := name.Draw(rt, "to")
				require.Equal(rt, "ok", p.ask("rename", path(n), path(to)))
				delete(files, n)
				files[to] = m
			},
			"power cut": func(rt *rapid.T) {
				var want int64
				for _, m := range files {
					want += m.length - m.synced
					m.length = m.synced
				}
				lost, err := p.CutPower(dir)
				require.NoError(rt, err)
				require.Equal(rt, want, lost)
			},
			"": func(rt *rapid.T) {
				for n, m := range files {
					info, err := os.Stat(path(n))
					require.NoError(rt, err)
					require.Equal(rt, m.length, info.Size())
				}
			},
		})
	})
}

// A full disk takes no byte, by whatever call; pipes and sockets are not on it,
// and what was there before stays.
func TestAFullDiskRefusesWrites(t *testing.T) {
	p := newProbe(t)
	file := filepath.Join(t.TempDir(), "file")
	require.Equal(t, "ok", p.ask("append", file, 10))
	full := func(on bool) int {
		done, err := p.Disturb(cluster.DiskFaults{Full: on})
		require.NoError(t, err)
		return done.Full
	}
	full(true)
	for i, verb := range []string{"append", "appendv", "pappend"} {
		require.Equal(t, "ENOSPC", p.ask(verb, file, 5), verb) // and says so on a pipe
		require.Equal(t, i+1, full(true))
	}
	require.Equal(t, "ok", p.ask("append", file, 0), "no byte takes no room")
	require.Equal(t, "ok", p.ask("fsync", file))
	require.Equal(t, int64(10), p.synced(file))
	full(false)
	for _, verb := range []string{"append", "appendv", "pappend"} {
		require.Equal(t, "ok", p.ask(verb, file, 5), verb)
	}
	require.Equal(t, 3, full(false))
}
