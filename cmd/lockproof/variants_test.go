package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariants judges configurations that were made to look safe: unread programs, memory under other names, second
// servers, other programs under the server's name. A case is "== title | verdicts | exit code | flags" with its files
// below. plain.txt has templates below "@@ name"; "-- file = name --" is a template with changes: "+mark line" adds a
// line at the mark, "~old => new" replaces, "+crlf" and "+bom" change the bytes. Flags name files in folders.
func TestVariants(t *testing.T) {
	plain := map[string]string{}
	for _, p := range strings.Split("\n"+read(t, "testdata/deployments/plain.txt"), "\n@@ ")[1:] {
		name, text, _ := strings.Cut(p, "\n")
		plain[name] = text + "\n"
	}
	for _, form := range []string{"compose", "kubernetes", "systemd", "engine", "settings"} {
		all := strings.Split("\n"+read(t, "testdata/deployments/"+form+".txt"), "\n== ")[1:]
		require.Greater(t, len(all), 20)
		for _, c := range all {
			head, body, _ := strings.Cut(strings.TrimSuffix(c, "\n"), "\n")
			fields := strings.Split(head, " | ")
			t.Run(form+"/"+fields[0], func(t *testing.T) { variant(t, plain, fields, body) })
		}
	}
}

func variant(t *testing.T, plain map[string]string, fields []string, body string) {
	t.Chdir(t.TempDir())
	var files []string
	for _, part := range strings.Split("\n"+body, "\n-- ")[1:] {
		file, text, _ := strings.Cut(part, " --\n")
		file, text = strings.TrimSuffix(file, " --"), strings.TrimSuffix(text, " --")
		if name, base, varied := strings.Cut(file, " = "); varied {
			file, text = name, varyOf(t, plain[base], text)
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
		if filepath.Dir(file) == "." && file != "redis.conf" && file != "other.conf" && filepath.Ext(file) != ".volume" {
			files = append(files, file)
		}
	}
	if fields[1] == "64" {
		got := fake(expected).try(append([]string{"validate"}, files...)...)
		require.Equal(t, exitUsage, got.code, got.out)
		return
	}
	if slices.ContainsFunc(strings.Fields(fields[len(fields)-1]), exists) {
		files = nil
	}
	requireAnswer(t, fields, files)
}

// varyOf is a template with changes.
func varyOf(t *testing.T, text, changes string) string {
	var end, begin string
	for _, change := range strings.Split(changes, "\n") {
		switch old, replaced, is := strings.Cut(strings.TrimPrefix(change, "~"), " => "); {
		case change == "":
		case change == "+crlf":
			end = "\r"
		case change == "+bom":
			begin = "\ufeff"
		case is && change[0] == '~':
			require.Contains(t, text, old)
			text = strings.ReplaceAll(text, old, strings.ReplaceAll(replaced, "@", "\n"))
		default:
			mark, line, _ := strings.Cut(strings.TrimPrefix(change, "+"), " ")
			at := strings.Index(text, "#"+mark+"\n")
			require.GreaterOrEqual(t, at, 0, change)
			indent := text[strings.LastIndex(text[:at], "\n")+1 : at]
			text = text[:at] + line + "\n" + indent + text[at:]
		}
	}
	return begin + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", end+"\n")
}
