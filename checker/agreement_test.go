package checker_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// On made-up histories, most of which make little sense as runs of a lock, both checkers agree on the safety properties
// and on cancellation.
func TestGeneratedHistories_OraclesAgree(t *testing.T) {
	histories := 100_000
	if testing.Short() {
		histories = 2_000
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		count = map[string]int{}
	)
	for worker := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := worker; seed < histories && !t.Failed(); seed += runtime.GOMAXPROCS(0) {
				events := checker.Scramble(uint64(seed))
				found, ok := compare(t, fmt.Sprint("seed ", seed), events, written(events))
				mu.Lock()
				count[found]++
				mu.Unlock()
				if !ok {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, found := range []string{"", "mutual-exclusion", "protected-data", "fencing", "cancellation"} {
		require.Greater(t, count[found], histories/200, "hardly any history breaks just this: %q of %v", found, count)
	}
}

func written(events []history.Event) []byte {
	var text bytes.Buffer
	w := history.NewWriter(&text)
	for _, e := range events {
		w.Write(e)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return text.Bytes()
}

func TestPublishedHistories_OraclesAgree(t *testing.T) {
	files, err := filepath.Glob("../reports/published/virtual/trials/*/*/history.jsonl")
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	violated := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if testing.Short() && len(text) > 300_000 {
			continue
		}
		events, err := history.Read(bytes.NewReader(text))
		require.NoError(t, err, file)
		found, ok := compare(t, file, events, text)
		if !ok {
			return
		}
		if found != "" {
			violated++
		}
	}
	require.Greater(t, violated, 20)
}

// compare lets both checkers judge a history, the second by its text. It returns the violated properties.
func compare(t *testing.T, name string, events []history.Event, text []byte) (found string, ok bool) {
	verdict, err := checker.Judge(checker.InMemory(events))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
		return "", false
	}
	lines, err := parse(text)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return "", false
	}
	var ours []string
	for _, property := range []string{checker.Cancellation, checker.Fencing, checker.MutualExclusion,
		checker.ProtectedData} {
		if verdict.Of(property).Verdict == history.Violated {
			ours = append(ours, property)
		}
	}
	found = broken(lines)
	if strings.Join(ours, " ") != found {
		t.Errorf("%s: the checker finds %q broken, the second one %q\n%.8000s", name, ours, found, text)
		return found, false
	}
	return found, true
}
