package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockproof/internal/input"
	"lockproof/internal/input/yamlfile"
)

// SetLine gives the files with a line of redis.conf made to count, where s and p come from
// them: in place of the line that counts now, at the end of the file that has none, or on
// the server's command line, where that outranks the file or there is no file. The error
// says why none of the files can be changed so.
func (f Files) SetLine(line string, s *Redis, p Policy) (Files, error) {
	name, _, _ := strings.Cut(line, " ")
	if slices.ContainsFunc(p.Overrides, func(d Directive) bool { return d.Name == name }) {
		return f.setOption(line, p)
	}
	at, set := s.At(name)
	switch {
	case s.Unread != "":
		return nil, errors.New(s.Unread)
	case set && at.Line == 0:
		return nil, fmt.Errorf("%s is given with %s", name, at.File)
	case s.block != nil:
		if !set {
			at.Line = 0
		}
		return f.put(p.File, func(data []byte) ([]byte, error) { return yamlfile.PutLine(data, s.block.at, at.Line, line) })
	case set:
		return f.setFileLine(at, line)
	case s.main != "":
		return f.setFileLine(Place{File: s.main}, line)
	case p.Kind == "":
		return nil, errors.New("no file is given")
	}
	return f.setOption(line, p)
}

// put gives the files with one of them changed.
func (f Files) put(file string, change func(data []byte) ([]byte, error)) (Files, error) {
	data, err := f.read(file, input.Config)
	if err != nil {
		return nil, err
	}
	changed, err := change(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return f.with(file, string(changed)), nil
}

// setFileLine puts a line in place of one of a redis.conf, or at its end where the place
// has no line.
func (f Files) setFileLine(at Place, line string) (Files, error) {
	return f.put(at.File, func(data []byte) ([]byte, error) {
		text := string(data)
		end := "\n"
		if strings.Contains(text, "\r\n") {
			end = "\r\n"
		}
		if at.Line == 0 {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += end
			}
			return []byte(text + line + end), nil
		}
		lines := strings.SplitAfter(text, "\n")
		if at.Line > len(lines) {
			return nil, fmt.Errorf("there is no line %d", at.Line)
		}
		old := lines[at.Line-1]
		indent := old[:len(old)-len(strings.TrimLeft(old, " \t"))]
		lines[at.Line-1] = indent + line + old[len(strings.TrimRight(old, "\r\n")):]
		return []byte(strings.Join(lines, "")), nil
	})
}
