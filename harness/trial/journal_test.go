package trial

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
)

// path is the file of a trial below the output folder.
var path = filepath.Join("trials", "late-set", "000", "history.jsonl")

// runVirtual runs a plan in virtual time.
func runVirtual(t *testing.T, p *Plan, j *Journal) {
	t.Helper()
	maker, err := virtual.Kind.Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	_, err = Run(t.Context(), p, maker, 0, 1, j)
	require.NoError(t, err)
	require.NoError(t, j.End())
}

// A history that is judged from its file, because it is too long for memory,
// gets the verdicts, figures, violations and blames of one that is not.
func TestJournal_LongHistoryReadFromFile(t *testing.T) {
	for _, name := range []string{"healthy-contention", "clock-jump-forward", "late-set", "client-pause", "flushall"} {
		t.Run(name, func(t *testing.T) {
			short, err := NewJournal(JournalOptions{Virtual: true})
			require.NoError(t, err)
			runVirtual(t, planned(t, load(t, name), Settings{On: virtual.Kind}), short)
			results, err := Judge(short)
			require.NoError(t, err)

			for _, ordered := range []bool{true, false} {
				j, err := NewJournal(JournalOptions{Root: t.TempDir(), Path: path, Virtual: ordered})
				require.NoError(t, err)
				j.memoryLimit = 10
				for _, e := range short.orderedEvents() {
					j.Record(e)
				}
				require.NoError(t, j.End())
				require.True(t, j.spilled)
				require.Empty(t, j.recorded)
				require.Equal(t, short.Length(), j.Length())
				long, err := Judge(j)
				require.NoError(t, err)
				require.Equal(t, results, long)
				require.Empty(t, j.KeepOrRemove(false))
				require.NoFileExists(t, j.name())
			}
		})
	}
}

// Whenever the harness is killed, a history that has its name has its header:
// here the header cannot be written.
// What is in memory is in the order in which the file is read, also where something is told
// late (fast-servers): both are judged.
func TestJournal_SameOrderInMemoryAndFile(t *testing.T) {
	for _, name := range []string{"fast-servers", "clock-jump-back", "late-set", "healthy-contention"} {
		j, err := NewJournal(JournalOptions{Root: t.TempDir(), Path: path, Virtual: true})
		require.NoError(t, err)
		runVirtual(t, planned(t, load(t, name), Settings{On: virtual.Kind}), j)
		file, err := os.Open(j.name())
		require.NoError(t, err)
		read, err := history.Read(file)
		require.NoError(t, errors.Join(err, file.Close()))
		require.Equal(t, len(read), len(j.orderedEvents()))
		for i, e := range j.orderedEvents() {
			require.Equal(t, read[i].Process, e.Process, "%s, event %d", name, i)
			require.Equal(t, read[i].Time, e.Time, "%s, event %d", name, i)
			require.Equal(t, read[i].Type, e.Type, "%s, event %d", name, i)
		}
	}
}

func TestJournal_FileNamedOnceHeaderIsWritten(t *testing.T) {
	to := JournalOptions{Root: t.TempDir(), Path: path}
	j, err := NewJournal(to)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(j.name(), "in the way"), 0o755))
	j.Record(history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}})
	require.Error(t, j.End())

	left, err := os.ReadDir(filepath.Dir(j.name()))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A history is written to no file that a link names, nor into a folder elsewhere.
func TestJournal_RefusesSymlinks(t *testing.T) {
	header := history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}}
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o644))

	to := JournalOptions{Root: t.TempDir(), Path: path}
	for _, name := range []string{"history.jsonl", "history.jsonl" + NewSuffix} {
		trial := filepath.Join(to.Root, "trials", "late-set", "000")
		require.NoError(t, os.MkdirAll(trial, 0o755))
		require.NoError(t, os.Symlink(precious, filepath.Join(trial, name)))
		j, err := NewJournal(to)
		require.NoError(t, err)
		j.Record(header)
		require.NoError(t, j.End())
		info, err := os.Lstat(j.name())
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
		require.NoFileExists(t, j.name()+NewSuffix)
	}

	require.NoError(t, os.RemoveAll(filepath.Join(to.Root, "trials")))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(to.Root, "trials")))
	j, err := NewJournal(to)
	require.NoError(t, err)
	j.Record(header)
	require.ErrorContains(t, j.End(), "written to none that a link leads to")
	require.NoError(t, os.MkdirAll(filepath.Join(elsewhere, "late-set", "000"), 0o755))
	there := filepath.Join(elsewhere, "late-set", "000", "history.jsonl")
	require.NoError(t, os.WriteFile(there, []byte("another's"), 0o644))
	_, err = NewJournal(to)
	require.ErrorContains(t, err, "written to none that a link leads to")
	require.FileExists(t, there)
	require.NoError(t, os.RemoveAll(filepath.Join(elsewhere, "late-set")))

	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Len(t, left, 1)
	data, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
}

// Its first lines reach a file that has not got its name yet.
func TestJournal_FileNamedWithFirstLines(t *testing.T) {
	to := JournalOptions{Root: t.TempDir(), Path: path}
	j, err := NewJournal(to)
	require.NoError(t, err)
	require.NoFileExists(t, j.name())
	j.Record(history.Event{Process: "harness", Type: history.TypeHeader, Header: &history.Header{Version: history.Version}})
	lines, err := os.ReadFile(j.name())
	require.NoError(t, err)
	require.Contains(t, string(lines), `"type":"header"`)
	require.NoFileExists(t, j.name()+NewSuffix)
	require.NoError(t, j.End())
}

func TestJournal_EventLimit(t *testing.T) {
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	require.Equal(t, maxVirtualEvents, j.limit)
	j.limit = 1000
	maker, err := virtual.Kind.Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	_, err = Run(t.Context(), planned(t, load(t, "healthy-contention"), Settings{On: virtual.Kind}), maker, 0, 1, j)
	require.ErrorContains(t, err, "more than 1000 events in ")
	require.Less(t, len(j.recorded), 2001)
}

func TestJournal_EventLimitEndsTrial(t *testing.T) {
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	for range maxEventsInMemory {
		j.Record(history.Event{Type: history.TypeNote})
	}
	require.Len(t, j.ShortHistory(), maxEventsInMemory)
	j.Record(history.Event{Type: history.TypeNote})
	require.Nil(t, j.ShortHistory())
}
