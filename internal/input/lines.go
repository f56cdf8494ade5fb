package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrLongLine is the error for a line of more than Line bytes.
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
			return 0, nil, nil // read more
		}
		return end, data[:end], nil
	})
	return &Lines{in}
}

// Next returns the next line with its end, valid until the next call. A last line without an end comes with io.EOF;
// after the last line io.EOF comes alone. A line of more than Line bytes is ErrLongLine, and ends the reading.
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
