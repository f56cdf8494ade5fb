package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrLongLine is the error for a line that has more than Line bytes.
var ErrLongLine = fmt.Errorf("the line has more than %d bytes", Line)

// Lines reads a file of any length line by line.
type Lines struct{ in *bufio.Scanner }

// NewLines makes a reader of lines.
func NewLines(from io.Reader) *Lines {
	in := bufio.NewScanner(from)
	in.Buffer(make([]byte, 64<<10), Line)
	in.Split(func(data []byte, atEOF bool) (advance int, token []byte, err error) {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 && atEOF {
			end = len(data)
		}
		if end == 0 {
			return 0, nil, nil // there is more to read
		}
		return end, data[:end], nil
	})
	return &Lines{in}
}

// Next gives the next line with its end; it is good until the next call. The
// last line may have no end: then the error is io.EOF, as it is, without a
// line, after the last. A line of more than Line bytes is ErrLongLine, after
// which there is no going on.
func (l *Lines) Next() ([]byte, error) {
	switch {
	case l.in.Scan() && bytes.HasSuffix(l.in.Bytes(), []byte("\n")):
		return l.in.Bytes(), nil
	case errors.Is(l.in.Err(), bufio.ErrTooLong):
		return nil, ErrLongLine
	case l.in.Err() != nil:
		return nil, l.in.Err()
	}
	return l.in.Bytes(), io.EOF
}
