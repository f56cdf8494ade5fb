package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/internal/input"
)

// Directive is one line of redis.conf.
type Directive struct {
	Place Place    `json:"place"`
	Name  string   `json:"name"` // in lower case: Redis ignores the case
	Args  []string `json:"-"`    // may be a secret of an unknown directive
}

// String returns the directive as a line of redis.conf.
func (d Directive) String() string {
	line := d.Name
	for _, arg := range d.Args {
		if arg == "" || strings.ContainsAny(arg, " \t\"'") {
			arg = `"` + arg + `"`
		}
		line += " " + arg
	}
	return line
}

// Secret reports whether the directive's value must not be shown.
func (d Directive) Secret() bool {
	return slices.Contains([]string{"requirepass", "masterauth", "user", "tls-key-file-pass",
		"tls-client-key-file-pass"}, current(d.Name))
}

// The bounds of includes. Redis has none: a chain of files that each include
// the next one twice keeps it busy for ever.
const (
	mostFiles      = 200
	mostBytes      = 2 * input.Config // of all files
	mostDirectives = 20_000
	deepestNested  = 16 // files that include one another
)

const mostProblems = 50

// reader reads redis.conf and the files that it includes.
type reader struct {
	base       string   // the folder of relative includes
	elsewhere  bool     // included files are not on this machine: an include stays an unknown line
	open       []string // the files being read, each included by the one before
	files      int      // files read so far
	bytes      int64    // their total size
	directives []Directive
	problems   []error
	remarks    []Remark
}

func (r *reader) file(name string, from *Directive) {
	place := Place{File: name}
	if from != nil {
		place = from.Place
	}
	r.files++
	switch {
	case slices.Contains(r.open, name):
		r.fail(place, "the files include one another: "+strings.Join(append(r.open, name), ", then "),
			"take one of the include lines out")
		return
	case r.files > mostFiles || len(r.open) == deepestNested:
		r.fail(place, fmt.Sprintf("too much is included: more than %d files, or %d that include one another", mostFiles,
			deepestNested), "take include lines out")
		return
	}
	data, err := input.Read(name, input.Config)
	r.bytes += int64(len(data))
	switch {
	case errors.Is(err, fs.ErrNotExist) && from != nil: // it may exist on the server's machine
		r.remark(place, false, "include %s: there is no such file here, and it could set anything: give it too", name)
		return
	case err != nil:
		what := "cannot be read: " + input.Cause(err).Error()
		if from != nil {
			what = name + " " + what
		}
		r.fail(place, what, "name a file that is there and can be read")
		return
	case r.bytes > mostBytes:
		r.fail(place, fmt.Sprintf("with what it includes, the file has more than %d bytes", mostBytes),
			"take include lines out")
		return
	}
	r.open = append(r.open, name)
	r.text(name, data)
	r.open = r.open[:len(r.open)-1]
}

func (r *reader) remark(at Place, data bool, format string, args ...any) {
	r.remarks = append(r.remarks, Remark{Place: at, What: fmt.Sprintf(format, args...), Data: data})
}

func (r *reader) text(name string, data []byte) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		r.fail(Place{name, 1 + bytes.Count(data[:i], []byte("\n"))}, "there is a zero byte, so this is no text",
			"name the server's redis.conf, not its data")
		return
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		r.fail(Place{name, 1},
			"there is a mark of the bytes' order, which Redis takes for a part of its first word, so that it does not start",
			"save the file as UTF-8 without one (a BOM)")
		return
	}
	for i, line := range strings.Split(string(data), "\n") {
		r.line(Place{name, i + 1}, line)
	}
}

// directiveName matches the directives of later versions and of modules too ("search.timeout").
var directiveName = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)

func (r *reader) line(at Place, line string) {
	line = strings.Trim(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return
	}
	words, err := SplitWords(line)
	if err != nil {
		r.fail(at, err.Error(), `close each quote, and put a blank after it, as in save ""`)
		return
	}
	if len(words) == 0 {
		return
	}
	d := Directive{Place: at, Name: strings.ToLower(words[0]), Args: words[1:]}
	switch {
	case !directiveName.MatchString(d.Name): // not shown: an included file may be any, and secret
		r.fail(at, "this line is no directive", "name the server's redis.conf, and include only files of its kind")
	case d.Name == "include" && !r.elsewhere:
		r.include(d)
	case len(r.directives) == mostDirectives:
		r.fail(at, fmt.Sprintf("there are more than %d directives", mostDirectives), "leave out those that say nothing")
	default:
		r.directives = append(r.directives, d)
	}
}

// include reads the files that a line names. As in Redis, a pattern may match
// nothing, but a plain name must exist.
func (r *reader) include(d Directive) {
	if len(d.Args) != 1 {
		r.fail(d.Place, fmt.Sprintf("include takes one file or pattern, and has %d", len(d.Args)),
			"write one include line for each")
		return
	}
	name := d.Args[0]
	if !filepath.IsAbs(name) {
		r.remark(d.Place, true,
			"include %s has a relative name, which Redis looks for in the folder that it was started in; it was read beside "+
				"the file: write the whole path", name)
		name = filepath.Join(r.base, name)
	}
	if !strings.ContainsAny(name, "*?[") {
		r.file(name, &d)
		return
	}
	if strings.ContainsAny(filepath.Dir(name), "*?[") {
		r.fail(d.Place, fmt.Sprintf("the pattern %q stands for folders too, which may be the whole disk", d.Args[0]),
			"write a pattern in the last part of the path only, as in conf.d/*.conf")
		return
	}
	if _, err := os.Stat(filepath.Dir(name)); err != nil { // the file may be a copy from another machine
		r.remark(d.Place, false,
			"include %s: there is no such folder here, and what is in it could set anything: give it too", d.Args[0])
		return
	}
	found, err := filepath.Glob(name)
	if err != nil {
		r.fail(d.Place, fmt.Sprintf("%q is not a pattern", d.Args[0]), "a [ needs its ]")
	}
	for _, f := range found {
		// as in Redis, patterns skip hidden files (glob(7))
		if filepath.Base(f)[0] != '.' || filepath.Base(name)[0] == '.' {
			r.file(f, &d)
		}
	}
}

func (r *reader) fail(at Place, what, right string) {
	r.note(&Problem{Place: at, What: what, Right: right})
}

func (r *reader) note(problem error) {
	if len(r.problems) < mostProblems {
		r.problems = append(r.problems, problem)
	}
}
