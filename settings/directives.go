package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Directive is one line of redis.conf.
type Directive struct {
	Place Place    `json:"place"`
	Name  string   `json:"name"` // in lower case, which Redis does not tell from upper
	Args  []string `json:"args"`
}

// String writes the directive as a line.
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

// longestFile is more than any redis.conf has, comments and all.
const longestFile = 4 << 20

// reader reads redis.conf with the files that it includes.
type reader struct {
	base       string   // the folder that relative includes are in
	open       []string // the files being read, each included by the one before
	directives []Directive
	problems   []error
}

// file reads one file.
func (r *reader) file(name string, from *Directive) {
	if slices.Contains(r.open, name) {
		r.fail(from.Place, "the files include one another: "+strings.Join(append(r.open, name), ", then "), "take one of the include lines out")
		return
	}
	data, err := os.ReadFile(name)
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		place := Place{File: name}
		if from != nil {
			place = from.Place
		}
		r.fail(place, fmt.Sprintf("cannot read %s: %v", name, err), "name a file that is there and can be read")
		return
	}
	r.open = append(r.open, name)
	r.text(name, data)
	r.open = r.open[:len(r.open)-1]
}

// text reads the lines of a file.
func (r *reader) text(name string, data []byte) {
	if len(data) > longestFile {
		r.fail(Place{File: name}, fmt.Sprintf("the file has %d bytes", len(data)), fmt.Sprintf("a redis.conf has at most %d", longestFile))
		return
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		line := 1 + bytes.Count(data[:i], []byte("\n"))
		r.fail(Place{name, line}, "there is a zero byte, so this is no text", "name the server's redis.conf, not its data")
		return
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for i, line := range strings.Split(string(data), "\n") {
		r.line(Place{name, i + 1}, line)
	}
}

func (r *reader) line(at Place, line string) {
	line = strings.Trim(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return
	}
	words, err := splitWords(line)
	if err != nil {
		r.fail(at, err.Error(), `close each quote, and put a blank after it, as in save ""`)
		return
	}
	if len(words) == 0 {
		return
	}
	d := Directive{Place: at, Name: strings.ToLower(words[0]), Args: words[1:]}
	if d.Name == "include" {
		r.include(d)
		return
	}
	r.directives = append(r.directives, d)
}

// include reads the files that a line names. As in Redis, a pattern may match
// nothing, and a plain name must be there.
func (r *reader) include(d Directive) {
	if len(d.Args) != 1 {
		r.fail(d.Place, fmt.Sprintf("include takes one file or pattern, and has %d", len(d.Args)), "write one include line for each")
		return
	}
	name := d.Args[0]
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.base, name)
	}
	if !strings.ContainsAny(name, "*?[") {
		r.file(name, &d)
		return
	}
	found, err := filepath.Glob(name)
	if err != nil {
		r.fail(d.Place, fmt.Sprintf("%q is not a pattern", d.Args[0]), "a [ needs its ]")
	}
	for _, f := range found {
		r.file(f, &d)
	}
}

func (r *reader) fail(at Place, what, right string) {
	r.problems = append(r.problems, &Problem{Place: at, What: what, Right: right})
}
