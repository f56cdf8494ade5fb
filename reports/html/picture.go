package html

import (
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The parts of a picture, in pixels; a line of the story, in characters.
const (
	pictureMargin = 18
	pictureTop    = 50 // of the timeline: below the heading
	lineHeight    = 20
	numberRoom    = 22
	timeRoom      = 96
	lineLength    = 138
)

// picture is an account as an SVG file of its own: what was violated, the
// timeline, and the story below it. It needs no script, and follows the
// reader's choice of light and dark.
type picture struct {
	Title         string
	Head          string
	Style         template.CSS
	Width, Height float64
	Margin, HeadY float64
	ChartX, Top   float64
	Timeline      *timeline
	Lines         []told
}

// told is a piece of the story below the timeline.
type told struct {
	X, Y        float64
	Class, Text string
}

// SVG draws the account as a file of its own.
func (a *Account) SVG(w io.Writer) error {
	t := a.Picture
	p := picture{
		Title: t.Title, Head: a.What, Timeline: t,
		Style:  template.CSS(slices.Concat(asset("colours.css"), asset("timeline.css"), asset("picture.css"))),
		Width:  t.Width + labelWidth + 2*pictureMargin,
		Margin: pictureMargin, HeadY: pictureTop - 20,
		ChartX: pictureMargin + labelWidth, Top: pictureTop,
	}
	y := pictureTop + t.Height + lineHeight
	for _, m := range t.Marks {
		p.Lines = append(p.Lines,
			told{pictureMargin + numberRoom, y, "number", strconv.Itoa(m.Number)},
			told{pictureMargin + numberRoom + 10, y, "time", m.Time})
		for line := range strings.SplitSeq(ansi.Wrap(m.Text, lineLength, ""), "\n") {
			p.Lines = append(p.Lines, told{pictureMargin + numberRoom + timeRoom, y, "", line})
			y += lineHeight
		}
	}
	p.Height = y
	return page.ExecuteTemplate(w, "picture.gohtml", p)
}
