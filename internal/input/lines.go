package input

import (
	"bufio"
	"fmt"
	"io"
)

// ErrLongLine is the error for a line that has more than Line bytes.
var ErrLongLine = fmt.Errorf("the line has more than %d bytes", Line)

// Lines reads a file of any length line by line.
type Lines struct {
	in   *bufio.Reader
	long []byte // a line that is longer than the reader's buffer
}

// NewLines makes a reader of lines.
func NewLines(from io.Reader) *Lines { return &Lines{in: bufio.NewReaderSize(from, 64<<10)} }

// Next gives the next line with its end; it is good until the next call. The
// last line may have no end: then the error is io.EOF, as it is, without a
// line, after the last. A line of more than Line bytes is ErrLongLine, after
// which there is no going on.
func (l *Lines) Next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	l.long = l.long[:0]
	for err == bufio.ErrBufferFull && len(l.long)+len(line) <= Line {
		l.long = append(l.long, line...)
		line, err = l.in.ReadSlice('\n')
	}
	if len(l.long)+len(line) > Line {
		return nil, ErrLongLine
	}
	l.long = append(l.long, line...)
	return l.long, err
}
