package html

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/lockproof/checker"
	"example.org/lockproof/reports"
)

// The heights of a timeline's rows from top to bottom, in pixels.
const (
	marksHeight  = 44 // numbered turns in two rows
	brokenHeight = 22
	faultHeight  = 18
	clientHeight = 34
	nodeHeight   = 26
	storeHeight  = 30
	gapHeight    = 8
	axisHeight   = 26
	labelWidth   = 76
)

const (
	glyphWidth = 6.4 // average width of a character in a bar's label
	tickRoom   = 84
)

// timeline is a story as a picture. Positions are in pixels. Times (A and B) are in nanoseconds since its beginning:
// the page's script needs them for zooming.
type timeline struct {
	ID            string
	Title         string
	Width, Height float64
	LabelWidth    int
	From          int64
	Even          bool
	Knots         string // JSON
	Lanes         []lane
	Bars          []bar
	Points        []point
	Marks         []mark
	Ticks         []tick
	Broken        *bar // the violation, over all lanes
	Turning       *tick
	Ending        *bar // after the history's last event
	LanesTop      float64
	LanesBottom   float64
	LanesHeight   float64 // height of all lanes

	story     *reports.Story
	violation *checker.Violation // nil: no violation
	scale     scale
	until     int64
	y         float64
}

type lane struct {
	Name, Kind string
	Y, H       float64
}

type bar struct {
	Class      string
	X, Y, W, H float64
	A, B       int64
	Label      string
	Fits       bool
	Patterned  bool // a field: the site's engine calls no methods (site/static)
	Room       int  // width of the label
	Text       string
}

// patterned reports whether a pattern covers a bar: that of a client or of an outage. The first client's colour has
// none (timeline.css).
func patterned(class string) bool {
	classes := strings.Fields(class)
	plain := slices.ContainsFunc(classes,
		func(c string) bool { return c == "fault" || c == "asking" || c == "using" || c == "o0" })
	return !plain || slices.Contains(classes, "paused") || slices.Contains(classes, "down")
}

type point struct {
	Class, Kind string
	Reach       float64 // height of an arrow that ends here
	X, Y        float64
	A           int64
	Text        string
}

type mark struct {
	Number      int
	X, Y        float64
	A           int64
	Aside, Stem float64 // horizontal and vertical distance to its time
	Time, Text  string
	Turning     bool
}

type tick struct {
	X     float64
	A     int64
	Label string
	Last  bool // no room on its right
}

// draw draws a story.
func draw(id string, f reports.Finding) *timeline {
	s, end := f.Story, f.Story.End
	t := &timeline{ID: id, Width: plotWidth, LabelWidth: labelWidth, From: s.From, story: s, violation: f.Violation}
	t.until = t.lastTime()
	t.scale = newScale(s.From, t.until, t.edges(), t.turns())
	t.Even = t.scale.even
	t.Title = fmt.Sprintf("Timeline of %q from %s to %s", s.Key, reports.Moment(s.From), reports.Moment(t.until))
	knots, _ := json.Marshal(t.scale.knots) // numbers alone always marshal
	t.Knots = string(knots)
	t.marks()
	t.LanesTop = t.y
	t.broken(f.Property)
	t.faults()
	for _, c := range s.Clients {
		t.client(c)
	}
	t.y += gapHeight
	for _, n := range s.Nodes {
		t.node(n)
	}
	t.store()
	t.LanesBottom, t.LanesHeight = t.y, t.y-t.LanesTop
	if t.Broken != nil {
		t.Broken.H = t.LanesBottom - t.Broken.Y
	}
	if end < t.until {
		b := t.bar("beyond", max(end, s.From), t.until, t.LanesTop, t.LanesBottom-t.LanesTop, "")
		b.Text = "The history ends at " + reports.Moment(end) + ": later leases are the clients' own view"
		t.Ending = &b
	}
	t.Height = t.y + axisHeight
	t.ticks()
	return t
}

// lastTime is the end of the picture: the end of the story, or a later end of the conflicting leases.
func (t *timeline) lastTime() int64 {
	s, until := t.story, t.story.Until
	if v := t.violation; v != nil {
		until = max(until, v.Until)
		for _, l := range v.Leases {
			until = max(until, l.Until)
		}
	}
	if until > s.Until {
		until += (until - s.From) / 50
	}
	return until
}

// edges are the times at which drawn things begin or end.
func (t *timeline) edges() []int64 {
	var all []int64
	for _, l := range slices.Concat(t.story.Clients, t.story.Nodes, []reports.Lane{t.story.Store}) {
		for _, stretch := range l.Stretches {
			all = append(all, stretch.From, stretch.Until)
		}
		for _, p := range l.Points {
			all = append(all, p.Time)
		}
	}
	for _, f := range t.story.Faults {
		all = append(all, f.From, f.Until)
	}
	if v := t.violation; v != nil {
		all = append(all, v.From, v.Until)
	}
	// Hundreds of edges are workload traffic, which needs no room.
	if len(all) > 400 {
		return nil
	}
	return all
}

func (t *timeline) turns() (times []int64) {
	for _, m := range t.story.Marks {
		times = append(times, m.Time)
	}
	return times
}

func (t *timeline) bar(class string, from, until int64, y, h float64, label string) bar {
	from, until = max(from, t.From), min(max(until, from), t.until)
	x := t.scale.x(from)
	w := max(t.scale.x(until)-x, 1.5)
	room := int(float64(utf8.RuneCountInString(label))*glyphWidth) + 12
	return bar{Class: class, X: x, Y: y, W: round(w), H: h, A: from - t.From, B: until - t.From,
		Label: label, Room: room, Fits: w >= float64(room), Patterned: patterned(class)}
}

func (t *timeline) shown(from, until int64) bool { return until >= t.From && from <= t.until }

// marks draws the numbered turns in two rows. An overlapping mark moves aside, and a stem connects it with its time.
func (t *timeline) marks() {
	s := t.story
	last := [2]float64{-roomy, -roomy}
	rows := make([]int, len(s.Marks))
	for i, m := range s.Marks {
		x := t.scale.x(m.Time)
		upper, lower := max(x, last[0]+roomy), max(x, last[1]+roomy)
		at := upper
		if lower < upper {
			rows[i], at = 1, lower
		}
		last[rows[i]] = at
		t.Marks = append(t.Marks, mark{Number: i + 1, X: at, Y: float64(11 + 21*rows[i]), A: m.Time - t.From,
			Time: reports.Moment(m.Time), Text: sentence(m.Text), Turning: m.Turning})
		if m.Turning {
			t.Turning = &tick{X: x, A: m.Time - t.From}
		}
	}
	next := [2]float64{plotWidth + roomy/2, plotWidth + roomy/2}
	for i := len(t.Marks) - 1; i >= 0; i-- {
		m := &t.Marks[i]
		m.X = round(min(m.X, next[rows[i]]-roomy))
		next[rows[i]] = m.X
		m.Aside = round(t.scale.x(s.Marks[i].Time) - m.X)
		m.Stem = marksHeight - m.Y
	}
	t.y = marksHeight
}

// sentence capitalizes a text unless it begins with a name, and ends it without a period.
func sentence(text string) string {
	for _, word := range []string{"the ", "on ", "what ", "each ", "fsyncs "} {
		if strings.HasPrefix(text, word) {
			text = strings.ToUpper(text[:1]) + text[1:]
		}
	}
	return strings.TrimSuffix(text, ".")
}

func (t *timeline) broken(property string) {
	v := t.violation
	if v == nil {
		return
	}
	b := t.bar("broken", v.From, v.Until, t.y, 0, brokenText(v, property))
	if !b.Fits {
		b.Class = "outside"
		if b.X < float64(b.Room) {
			b.Class = "behind"
		}
	}
	b.Text = property + " is violated: " + v.What
	t.Broken = &b
	t.lane("violated", "broken", brokenHeight)
}

// brokenText states the violation and its duration in a few words.
func brokenText(v *checker.Violation, property string) string {
	length := reports.Duration(time.Duration(v.Until - v.From))
	if p, _ := checker.Find(property); p.Brief != nil {
		return p.Brief(*v, length)
	}
	return "violated: " + length
}

func (t *timeline) lane(name, kind string, height float64) lane {
	l := lane{Name: name, Kind: kind, Y: t.y, H: height}
	t.Lanes = append(t.Lanes, l)
	t.y += height
	return l
}

// ownerClass assigns a client one of six colours and patterns, in turn.
func (t *timeline) ownerClass(client string) string {
	i := slices.Index(t.story.AllClients, client)
	if i < 0 {
		return "nobody"
	}
	return fmt.Sprintf("o%d", i%owners)
}

// owners is the number of colours and patterns for clients.
const owners = 6

// ticks labels the turns if there is room, otherwise round times.
func (t *timeline) ticks() {
	var times []int64
	if t.Even {
		step := reports.RoundStep(float64(t.until-t.From) * tickRoom * 1.4 / plotWidth)
		for at := (t.From + step - 1) / step * step; at <= t.until; at += step {
			times = append(times, at)
		}
	} else {
		times = append(t.turns(), t.until)
	}
	last := -tickRoom * 1.0
	for _, at := range times {
		x := t.scale.x(at)
		k := tick{X: x, A: at - t.From, Label: trailingZeros.ReplaceAllString(reports.Moment(at), " ")}
		start := x
		if x > plotWidth-tickRoom {
			k.Last, start = true, x-tickRoom
		}
		if start-last >= tickRoom {
			t.Ticks = append(t.Ticks, k)
			last = start
		}
	}
}

// trailingZeros are the zeros after a decimal point.
var trailingZeros = regexp.MustCompile(`\.?0+ `)
