package input

import (
	"bytes"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRead_FileAboveTheLimit_Fails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte("12345"), 0o600))
	data, err := Read(name, 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(data))
	_, err = Read(name, 4)
	var large *TooLarge
	require.ErrorAs(t, err, &large)
	require.Equal(t, TooLarge{Size: 5, Max: 4}, *large)
	require.EqualError(t, Cause(err), "it has 5 bytes, and such a file has at most 4")
	require.ErrorContains(t, err, name)
}

func TestOpen_IrregularFile_Fails(t *testing.T) {
	dir := t.TempDir()
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer socket.Close()
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	for name, want := range map[string]string{
		dir: "it is a directory, not a regular file", filepath.Join(dir, "socket"): "it is a socket, not a regular file",
		os.DevNull: "it is a device, not a regular file",
	} {
		_, err := Open(name)
		require.ErrorIs(t, err, ErrIrregular, name)
		require.EqualError(t, Cause(err), want)
	}
	for _, name := range []string{loop, filepath.Join(dir, "missing"), filepath.Join(dir, strings.Repeat("x", 300)),
		"nul\x00byte"} {
		_, err := Open(name)
		var in *fs.PathError
		require.ErrorAs(t, err, &in, name)
	}
}

func TestLines_TogetherAreTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		shortOrLong := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(65_000, 140_000))
		for _, length := range rapid.SliceOfN(shortOrLong, 0, 5).Draw(t, "lengths") {
			text.WriteString(strings.Repeat("x", length) + "\n")
		}
		text.WriteString(rapid.SampledFrom([]string{"", "cut short"}).Draw(t, "end"))
		var got bytes.Buffer
		lines := NewLines(strings.NewReader(text.String()))
		for {
			line, err := lines.Next()
			got.Write(line)
			if err != nil {
				require.Equal(t, io.EOF, err)
				break
			}
			require.Equal(t, 1, bytes.Count(line, []byte("\n")))
		}
		require.Equal(t, text.String(), got.String())
	})
}

func TestLines_LongLine_Fails(t *testing.T) {
	longest := strings.Repeat("x", Line-1) + "\n"
	line, err := NewLines(strings.NewReader(longest)).Next()
	require.NoError(t, err)
	require.Len(t, line, Line)
	endless := &zeroes{}
	_, err = NewLines(endless).Next()
	require.ErrorIs(t, err, ErrLongLine)
	require.Less(t, endless.given, 2*Line, "it reads no further than necessary")
}

// zeroes is /dev/zero.
type zeroes struct{ given int }

func (z *zeroes) Read(b []byte) (int, error) {
	clear(b)
	z.given += len(b)
	return len(b), nil
}
