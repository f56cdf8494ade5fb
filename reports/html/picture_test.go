package html

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/reports"
)

// texts reads an SVG file strictly, as XML, and gives what it says.
func texts(t *testing.T, svg []byte) (names map[string]int, said string) {
	t.Helper()
	names = map[string]int{}
	var text strings.Builder
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names, text.String()
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			names[token.Name.Local]++
		case xml.CharData:
			text.Write(token)
		}
	}
}

// A violated trial has its timeline beside its history, as a file that stands
// alone: the story is in it, and nothing is fetched or run.
func TestATimelineIsAPictureOfItsOwn(t *testing.T) {
	const markup = `<script>alert("1")</script>&amp;`
	for _, w := range []words{{}, {"client": markup, "node": markup, "what": markup, "fault kind": markup}} {
		report, catalogue := w.report(t)
		require.NoError(t, Write(io.Discard, report, catalogue))
		svg, err := os.ReadFile(filepath.Join(report.Options.Out, "trials", "it", "000", reports.TimelineFile))
		require.NoError(t, err)
		names, said := texts(t, svg)
		require.Zero(t, names["script"])
		require.Positive(t, names["pattern"])
		require.Contains(t, said, w.word("what"))
		require.Contains(t, said, w.word("client")+" asks for")
		require.Contains(t, said, "10.000 ms")
		require.NotRegexp(t, `@import|url\([^#]|(?:href|src)="[^#]`, string(svg))
	}
}
