package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatNoListOfWordsDecides judges configurations that were made to be called safe: programs that nobody has read,
// memory under other names, second servers, other programs under the server's name. Each stands in
// testdata/sceptic.txt as "== what it is | verdicts | exit code | flags", with its files below it.
func TestWhatNoListOfWordsDecides(t *testing.T) {
	data, err := os.ReadFile("testdata/sceptic.txt")
	require.NoError(t, err)
	cases := strings.Split(string(data), "\n== ")
	require.Greater(t, len(cases), 60)
	for _, c := range cases {
		head, body, _ := strings.Cut(strings.TrimPrefix(c, "== "), "\n")
		fields := strings.Split(head, " | ")
		takeovers := len(fields) == 5 // whose verdicts stand after a bar of their own
		name, want := fields[0], fields[1]
		if takeovers {
			want += " | " + fields[2]
		}
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var files []string
			for _, part := range strings.Split("\n"+body, "\n-- ")[1:] {
				file, text, _ := strings.Cut(part, " --\n")
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
				if filepath.Dir(file) == "." && file != "redis.conf" && filepath.Ext(file) != ".volume" {
					files = append(files, file)
				}
			}
			got, exit := answerOf(t, append(strings.Fields(fields[len(fields)-1]), files...))
			require.Equal(t, want, got)
			require.Equal(t, fields[len(fields)-2], fmt.Sprint(exit))
		})
	}
}
