package reports

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/input/inputtest"
)

// put writes files below a folder. A name that ends in @ becomes a link to the file that its content names.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(name, "@")))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "@") {
			require.NoError(t, os.Symlink(text, path))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
}

// contents returns all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		if d.Type()&fs.ModeSymlink != 0 {
			found[name+"@"], err = os.Readlink(path)
			return err
		}
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return found
}

// openCleared opens a folder as a run does: it removes an earlier run's files.
func openCleared(t *testing.T, dir string) {
	t.Helper()
	f, err := OpenFolder(dir)
	require.NoError(t, err)
	require.NoError(t, f.Clear())
	require.NoError(t, f.Close())
}

func TestOpenFolder_ForeignFolder_IsRefused(t *testing.T) {
	for says, files := range map[string]map[string]string{
		"it is not empty, and has no .lockproof": {
			ResultsFile: `{"tool": {"name": "jest"}}`, PageFile: "<p>mine</p>", "trials/a/b/history.jsonl": "mine",
			JUnitFile:      "<mine/>",
			ValidationFile: `{"verdict": "ok"}`, ProgressFile: "mine",
		},
		"name a new or an empty one": {"main.go": "package main"},
		"its .lockproof is a link":   {MarkFile + "@": "/dev/null"},
		"its .lockproof is a folder": {MarkFile + "/x": ""},
		"its trials is a link":       {"trials@": "/tmp", MarkFile: ""},
		"its trials is a file":       {"trials": "", MarkFile: ""},
		"not a folder that Lockproof made": {ResultsFile + "@": "real.json",
			"real.json": "{\n  \"version\": 1,\n  \"tool\": {\n    \"name\": \"lockproof\""},
	} {
		dir := t.TempDir()
		put(t, dir, files)
		before := contents(t, dir)
		_, err := OpenFolder(dir)
		require.ErrorIs(t, err, ErrForeign, says)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, dir)
		require.Equal(t, before, contents(t, dir))
	}
}

func TestOpenFolder_NewOrOwnFolder_IsOpened(t *testing.T) {
	for _, dir := range []string{filepath.Join(t.TempDir(), "new", "below"), t.TempDir()} {
		for range 2 {
			openCleared(t, dir)
			require.Equal(t, map[string]string{MarkFile: markText}, contents(t, dir))
		}
	}
}

func TestClear_RemovesOnlyARunsFiles(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	put(t, elsewhere, map[string]string{"000/history.jsonl": "precious", "precious": "precious"})
	others := map[string]string{"notes.txt": "mine", "trials/a/000/notes.txt": "mine", "sub/results.json": "mine",
		MarkFile: markText, "trials/linked@": elsewhere}
	put(t, dir, others)
	put(t, dir, map[string]string{
		ResultsFile: "", JUnitFile: "", SummaryFile + "@": filepath.Join(elsewhere, "precious"), PageFile: "",
		ValidationFile: "",
		ProgressFile:   "", ".results.json.ABC": "", ".progress.jsonl.DEF": "",
		"trials/a/000/history.jsonl": "", "trials/a/000/" + TimelineFile: "", "trials/a/000/." + TimelineFile + ".ABC": "",
		"trials/b--c~2/001/history.jsonl" + suite.NewSuffix: "",
	})
	openCleared(t, dir)
	require.Equal(t, others, contents(t, dir))
	require.NoDirExists(t, filepath.Join(dir, "trials", "b--c~2"))
	require.Equal(t, map[string]string{"000/history.jsonl": "precious", "precious": "precious"}, contents(t, elsewhere))
}

// A run's files replace links instead of following them.
func TestFolder_Links_AreReplaced(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	put(t, elsewhere, map[string]string{"precious": "precious"})
	links := map[string]string{MarkFile: ""}
	for _, name := range []string{ProgressFile, ResultsFile, JUnitFile, SummaryFile} {
		links[name+"@"] = precious
	}
	links["trials/c@"] = elsewhere
	put(t, dir, links)

	report := fixture()
	report.Options.Out = dir
	folder, p := begin(t, report.Run)
	p.Observe(trial("flushall", "", 1, history.Violated, history.Violated))
	_, err := report.WriteFiles()
	require.NoError(t, err)
	require.Error(t, WriteFile(dir, File{"trials/c/" + TimelineFile, report.WriteSummary}), "it would be elsewhere")
	require.NoError(t, p.End())
	require.NoError(t, folder.Close())

	require.Equal(t, map[string]string{"precious": "precious"}, contents(t, elsewhere))
	for _, name := range []string{ResultsFile, JUnitFile, SummaryFile} {
		info, err := os.Lstat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular(), name)
	}
	_, err = Read(dir)
	require.NoError(t, err)
}

func TestIsUnfinished(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  bool
	}{
		"killed":                             {[]string{MarkFile, ProgressFile}, true},
		"killed, kept without hidden files":  {[]string{ProgressFile}, true},
		"killed before its first line":       {[]string{MarkFile}, true},
		"reported, and then killed":          {[]string{MarkFile, ProgressFile, ResultsFile}, false},
		"ended":                              {[]string{MarkFile, ResultsFile}, false},
		"not a run, such as a mistyped name": {nil, false},
	} {
		dir := t.TempDir()
		for _, file := range c.files {
			put(t, dir, map[string]string{file: ""})
		}
		require.Equal(t, c.want, IsUnfinished(dir), name)
	}
}

func readProgress(t *testing.T, out string) (*RunInProgress, error) {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(out))
	require.NoError(t, err)
	defer root.Close()
	return ReadProgress(root, filepath.Base(out))
}

// begin opens a run's folder and begins its progress.
func begin(t *testing.T, run Run) (*Folder, *Progress) {
	t.Helper()
	folder, err := OpenFolder(run.Options.Out)
	require.NoError(t, err)
	p, err := folder.Begin(run)
	require.NoError(t, err)
	return folder, p
}

func TestProgress(t *testing.T) {
	run := Run{Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Planned: 3,
		Options: suite.Options{Out: filepath.Join(t.TempDir(), "new"), Cluster: "virtual", Trials: 3}}
	folder, p := begin(t, run)
	p.Observe(trial("flushall", "", 1, history.Violated, history.Violated))
	p.Observe(trial("flushall", "", 2, history.Violated, history.Holds))

	u, err := readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.True(t, u.Alive)
	require.Equal(t, 3, u.Planned)
	require.Equal(t, run.Started, u.Started)
	require.Equal(t, "virtual", u.Options.Cluster)
	require.Equal(t, 2, u.Done)
	text, err := os.ReadFile(filepath.Join(run.Options.Out, ProgressFile))
	require.NoError(t, err)
	require.Contains(t, string(text), `"standing":"differs","why":"mutual-exclusion: expected violated, got holds"`)

	_, err = OpenFolder(run.Options.Out)
	require.ErrorIs(t, err, ErrBusy)

	p.file.Close() // as after a killed harness
	require.NoError(t, folder.Close())
	u, err = readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.False(t, u.Alive)
	require.Equal(t, 2, u.Done)

	folder, again := begin(t, run)
	u, err = readProgress(t, run.Options.Out)
	require.NoError(t, err)
	require.Zero(t, u.Done)
	require.NoError(t, again.End())
	require.NoError(t, folder.Close())
	require.NoFileExists(t, filepath.Join(run.Options.Out, ProgressFile))
}

func TestReadProgress_BadFile_Fails(t *testing.T) {
	const begun = `{"begun":{"planned":2}}` + "\n"
	for text, want := range map[string]string{
		"":                             "progress.jsonl:1",
		"{":                            "progress.jsonl:1",
		"{}\n":                         "progress.jsonl:1: this is not the beginning",
		begun + `{"trial":{"scenario"`: "", // incomplete line
		begun:                          "",
	} {
		out := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(out, ProgressFile), []byte(text), 0o644))
		_, err := readProgress(t, out)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
}

// Any text is accepted or refused.
func FuzzProgress(f *testing.F) {
	f.Add(`{"begun":{"planned":2}}` + "\n" + `{"trial":{"scenario":"x"}}` + "\n")
	f.Add(`{"begun":{}}` + "\n" + strings.Repeat(`{"trial":{}}`+"\n", 50_000))
	f.Add(`{"begun":{"planned":-1}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		out := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(out, ProgressFile), []byte(text), 0o644))
		var u *RunInProgress
		var err error
		inputtest.Bounded(t, len(text), func() { u, err = readProgress(t, out) })
		require.True(t, (u == nil) == (err != nil))
	})
}
