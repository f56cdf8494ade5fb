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

// synced is the synced length of a file.
func (p *probe) synced(file string) int64 {
	name, _, err := identify(file)
	require.NoError(p.t, err)
	all, err := p.l.synced()
	require.NoError(p.t, err)
	return all[name]
}

func TestSynced_NewFileWithReusedInode_IsZero(t *testing.T) {
	p := newProbe(t)
	dir := t.TempDir()
	reused := false
	for i := range 20 {
		old, young := filepath.Join(dir, fmt.Sprintf("old%d", i)), filepath.Join(dir, fmt.Sprintf("young%d", i))
		p.do("append", old, 100)
		p.do("fsync", old)
		before, _, err := identify(old)
		require.NoError(t, err)
		p.do("remove", old)
		p.do("append", young, 100)
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

// A power cut must not lose a file's data only because the table had no entry for the file.
func TestCutPower_TableFull_Fails(t *testing.T) {
	p := newProbe(t)
	for i := range p.l.files {
		p.l.files[i].state = fileReady
	}
	file := filepath.Join(t.TempDir(), "aof")
	p.do("append", file, 10)
	require.Equal(t, "ok", p.do("fsync", file))
	_, err := p.CutPower(filepath.Dir(file))
	require.ErrorContains(t, err, "could not note 1 fsyncs")
}

func TestCutPower_RandomFileOperations_MatchesModel(t *testing.T) {
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
				require.Equal(rt, "ok", p.do("append", path(n), length))
				if files[n] == nil {
					files[n] = &model{}
				}
				files[n].length += length
			},
			"sync": func(rt *rapid.T) {
				n, m := existing(rt)
				require.Equal(rt, "ok", p.do(rapid.SampledFrom([]string{"fsync", "fdatasync"}).Draw(rt, "how"), path(n)))
				m.synced = m.length
			},
			"truncate": func(rt *rapid.T) {
				n, m := existing(rt)
				m.length = rapid.Int64Range(0, m.length).Draw(rt, "to")
				require.Equal(rt, "ok", p.do("truncate", path(n), m.length))
				m.synced = min(m.synced, m.length)
			},
			"rename": func(rt *rapid.T) {
				n, m := existing(rt)
				to := name.Draw(rt, "to")
				require.Equal(rt, "ok", p.do("rename", path(n), path(to)))
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

// A full disk refuses every kind of write, keeps its data, and does not affect pipes and sockets.
func TestDisturb_FullDisk_RefusesWrites(t *testing.T) {
	p := newProbe(t)
	file := filepath.Join(t.TempDir(), "file")
	require.Equal(t, "ok", p.do("append", file, 10))
	full := func(on bool) int {
		done, err := p.Disturb(cluster.DiskFaults{Full: on})
		require.NoError(t, err)
		return done.Full
	}
	full(true)
	for i, verb := range []string{"append", "appendv", "pappend"} {
		require.Equal(t, "ENOSPC", p.do(verb, file, 5), verb) // the probe's answer itself is written to a pipe
		require.Equal(t, i+1, full(true))
	}
	require.Equal(t, "ok", p.do("append", file, 0), "no byte takes no room")
	require.Equal(t, "ok", p.do("fsync", file))
	require.Equal(t, int64(10), p.synced(file))
	full(false)
	for _, verb := range []string{"append", "appendv", "pappend"} {
		require.Equal(t, "ok", p.do(verb, file, 5), verb)
	}
	require.Equal(t, 3, full(false))
}
