package settings

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"lockproof/internal/input"
)

// Diff is what has to be changed in files, as patch(1) takes it.
type Diff struct {
	Files []string `json:"files"` // that change, as they were named
	Text  string   `json:"text"`  // unified
	// Root: the names begin at the root of the file system (patch -d / -p1), and not in the
	// folder at hand (patch -p1).
	Root bool `json:"root,omitempty"`
	// Redacted: a line that changes holds a secret, which is not told, so that it has to be
	// changed by hand.
	Redacted bool `json:"redacted,omitempty"`
}

// Hidden stands for a secret in a diff.
const Hidden = "AS-BEFORE"

// Diff compares the files with those on the disk. A line with a secret is never told; what
// are secrets the directives of s say, and the words of each line.
func (f Files) Diff(s *Redis, p Policy) (Diff, error) {
	var d Diff
	values := secrets(slices.Concat(s.Directives, p.Overrides))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		d.Files = append(d.Files, name)
		d.Root = d.Root || !filepath.IsLocal(name)
	}
	for _, name := range d.Files {
		label := name
		if d.Root {
			absolute, err := filepath.Abs(name)
			if err != nil {
				return d, err
			}
			label = strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(absolute, filepath.VolumeName(absolute))), "/")
		}
		label = filepath.ToSlash(label)
		if strings.ContainsAny(label, " ") {
			label += "\t" // which ends a name
		}
		from := "a/" + label
		old, err := input.Read(name, input.Config)
		if errors.Is(err, fs.ErrNotExist) {
			from, err = "/dev/null", nil
		}
		if err != nil {
			return d, err
		}
		text, redacted, err := unified(from, "b/"+label, string(old), f[name], values)
		if err != nil {
			return d, err
		}
		d.Text += text
		d.Redacted = d.Redacted || redacted
	}
	return d, nil
}

// mostContext is how many lines around a change are told.
const mostContext = 3

// unified compares two texts, with so few lines around the changes that none of them holds
// a secret.
func unified(from, to, old, text string, values []string) (diff string, redacted bool, err error) {
	edits := udiff.Lines(old, text)
	lines := secretLines(old, values)
	for context := mostContext; context >= 0; context-- {
		if diff, err = udiff.ToUnified(from, to, old, edits, context); err != nil {
			return "", false, err
		}
		if context == 0 {
			diff = withoutContext(diff)
		}
		if !slices.ContainsFunc(strings.Split(diff, "\n"), func(l string) bool {
			return strings.HasPrefix(l, " ") && lines[l[1:]]
		}) {
			break
		}
	}
	all := strings.Split(diff, "\n")
	for i, l := range all {
		if i > 1 && l != "" && strings.Contains("+-", l[:1]) {
			all[i] = l[:1] + hide(l[1:], values)
			redacted = redacted || all[i] != l
		}
	}
	return strings.Join(all, "\n"), redacted, nil
}

// hunkHead is the first line of a hunk; a count that is not there is 1.
var hunkHead = regexp.MustCompile(`(?m)^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@\n`)

// withoutContext mends the heads of hunks that only add or only remove, which the library
// writes for a line of context: such a hunk stands after the line that it names.
func withoutContext(diff string) string {
	heads := hunkHead.FindAllStringSubmatchIndex(diff, -1)
	for n, h := range slices.Backward(heads) {
		end := len(diff)
		if n+1 < len(heads) {
			end = heads[n+1][0]
		}
		head, body := hunkHead.FindStringSubmatch(diff[h[0]:h[1]]), "\n"+diff[h[1]:end]
		from, to := head[1]+head[2], head[3]+head[4]
		if !strings.Contains(body, "\n-") && from != "0,0" {
			from = before(head[1])
		}
		if !strings.Contains(body, "\n+") && to != "0,0" {
			to = before(head[3])
		}
		diff = diff[:h[0]] + "@@ -" + from + " +" + to + " @@\n" + diff[h[1]:]
	}
	return diff
}

// before is no lines, after the line before one.
func before(line string) string {
	n, _ := strconv.Atoi(line) // which is digits
	return strconv.Itoa(n-1) + ",0"
}
