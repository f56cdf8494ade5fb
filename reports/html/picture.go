package html

import (
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Sizes of a picture, in pixels. The length of a line is in characters.
const (
	pictureMargin = 18
	pictureTop    = 50 // top of the timeline, below the heading
	lineHeight    = 20
	numberRoom    = 22
	timeRoom      = 96
	lineLength    = 138
)

// picture is an account as an SVG file: the violation, the timeline, and the story below it. It needs no script, and
// follows the reader's choice of light and dark.
type picture struct {
	Title         string
	Head          string
	Style         template.CSS
	Width, Height float64
	Margin, HeadY float64
	ChartX, Top   float64
	Timeline      *timeline
	Lines         []textLine
}

// textLine is a piece of the story below the timeline.
type textLine struct {
	X, Y        float64
	Class, Text string
}

// SVG writes the account as an SVG file.
func (a *Account) SVG(w io.Writer) error {
	t := a.Picture
	p := picture{
		Title: t.Title, Head: sentence(a.What), Timeline: t,
		Style:  template.CSS(slices.Concat(asset("colours.css"), asset("timeline.css"), asset("picture.css"))),
		Width:  t.Width + labelWidth + 2*pictureMargin,
		Margin: pictureMargin, HeadY: pictureTop - 20,
		ChartX: pictureMargin + labelWidth, Top: pictureTop,
	}
	y := pictureTop + t.Height + lineHeight
	for _, m := range t.Marks {
		p.Lines = append(p.Lines,
			textLine{pictureMargin + numberRoom, y, "number", strconv.Itoa(m.Number)},
			textLine{pictureMargin + numberRoom + 10, y, "time", m.Time})
		for line := range strings.SplitSeq(ansi.Wrap(m.Text, lineLength, ""), "\n") {
			p.Lines = append(p.Lines, textLine{pictureMargin + numberRoom + timeRoom, y, "", line})
			y += lineHeight
		}
	}
	p.Height = y
	return page.ExecuteTemplate(w, "picture.gohtml", p)
}
