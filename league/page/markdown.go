package main

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// markdown is docs/locks.md.
func (t *table) markdown() []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for _, group := range []struct {
		title    string
		contains func(*cross) bool
	}{
		{"Two clients at once, or blocked for ever", func(c *cross) bool { return c.counts() && !minor(c) }},
		{"At worst a wait for one TTL", func(c *cross) bool { return c.counts() && minor(c) }},
		{"Depends on how the lock is used", func(c *cross) bool { return !c.counts() }},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", group.title)
		t.findings(&b, group.contains)
	}
	b.WriteString("\n## Each lock in each situation\n\n" + legend + "\n")
	t.grid(&b)
	t.prices(&b)
	t.rest(&b)
	b.WriteString(next)
	return b.Bytes()
}

const head = `<!-- written by make league: change league/, not this file -->
# The locks that people use

This page is for anybody who uses one of these locks, or chooses one. Each lock ran over the same catalogue with its
default settings. A finding is listed only with its cause in the library's code. It says how often it was repeated on
real Redis, and when. The [page](../reports/published/league/index.html) has each lock's set-up, what its documentation
promises, and what its author may reply.

Repeat a finding with its name: ` + "`go -C league test . -run 'TestConfirmed/redsync$'`" + `. Libraries draw their own
random numbers, so a row may differ from run to run. The same for your own lock takes [five lines](your-own-lock.md).
`

const legend = `✗ the lock breaks there. (✗) it depends on how the lock is used. ? something differed, and the cause
is not confirmed. ✓ as good as the reference or better, in so many scenarios: it says what was tried, and is no proof.
– nothing was shown: not run, not applicable, or inconclusive. Go libraries that dial by themselves ran on real
servers, with fewer scenarios, unless ` + "`lockproof test`" + ` ran them. Others run on real servers only:
rueidislock, since the servers in memory have no CLIENT TRACKING; locks in other languages, since their clients are
processes.
`

// findings lists the crosses of one group: lock by lock, one line each.
func (t *table) findings(b *bytes.Buffer, contains func(*cross) bool) {
	b.WriteString("| lock | what happens | cause in its code | on real Redis | name |\n|---|---|---|---|---|\n")
	for _, e := range t.entries {
		if !e.ran || e.reference() {
			continue
		}
		for _, c := range e.Crosses {
			if contains(c) {
				fmt.Fprintf(b, "| %s | %s%s | %s | %s | `%s` |\n", e.title(), c.Short, c.links(), c.Place, c.count(), e.Test)
			}
		}
	}
}

// worst are the lock's own crosses that cost more than a TTL of waiting.
func (e *entry) worst() []*cross {
	return slices.DeleteFunc(slices.Clone(e.Crosses), func(c *cross) bool { return !c.counts() || minor(c) })
}

// minor reports whether a cross costs at most a TTL of waiting.
func minor(c *cross) bool {
	return c.Scenarios[0] == "late-set" || c.Scenarios[0] == "lost-reply" || c.Scenarios[0] == "cancelled-acquire"
}

func (e *entry) reference() bool {
	return e.Module == "lockproof" || e.Module == "" && e.Package == "" && e.Checkout == ""
}

// title is its name with its version and, unless it is Go, its language.
func (e *entry) title() string {
	said := strings.TrimSpace(e.Name + " " + e.Version)
	if e.Language != "" {
		said += " (" + e.Language + ")"
	}
	return said
}

// count is the number of decided trials on real servers that showed it.
func (c *cross) count() string {
	if c.Of == 0 {
		return "not tried"
	}
	return fmt.Sprintf("%d of %d, %s", c.Real, c.Of, c.Day)
}

// evidence is count in words.
func (c *cross) evidence() string {
	if c.Of == 0 {
		return "seen in virtual time only"
	}
	return fmt.Sprintf("%d of %d on real Redis, %s", c.Real, c.Of, c.Day)
}

// links are the cross's story and its report, if any.
func (c *cross) links() (said string) {
	if c.Story != "" {
		said += fmt.Sprintf(", [story](../%s/%s)", published, c.Story)
	}
	if c.Report != "" {
		said += fmt.Sprintf(", [report](findings/%s)", c.Report)
	}
	return said
}

func (t *table) grid(b *bytes.Buffer) {
	b.WriteString("| lock |")
	for _, c := range columns {
		fmt.Fprintf(b, " %s |", c.Title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, e := range t.entries {
		if !e.ran {
			continue
		}
		fmt.Fprintf(b, "| %s |", e.title())
		for _, c := range columns {
			at := e.cell(c)
			switch {
			case at.Story != "":
				fmt.Fprintf(b, " [%s](../%s/%s) |", at.Mark, published, at.Story)
			case at.Mark == right:
				fmt.Fprintf(b, " ✓ %s |", strings.Fields(at.Words)[0])
			default:
				fmt.Fprintf(b, " %s |", at.Mark)
			}
		}
		b.WriteString("\n")
	}
}

// prices lists the cost of each lock.
func (t *table) prices(b *bytes.Buffer) {
	b.WriteString("\n## What each lock costs\n\n" + priced +
		"\n| lock | servers | pairs a second | share of the bare commands | commands a pair | " +
		"orphan keys | wait with a hung server |\n|---|---|---|---|---|---|---|\n")
	for _, e := range t.entries {
		if e.Cost == nil {
			continue
		}
		fmt.Fprintf(b, "| %s | %s |", e.title(), e.On)
		for _, f := range figures(e.Cost, e.Lock) {
			fmt.Fprintf(b, " %s |", f)
		}
		b.WriteString("\n")
	}
}

const priced = `One caller acquires and releases keys of its own, each lock in turn, on the same five real servers.
Compare rows, not figures of another day. Bare commands are SET NX PX and the compare-and-delete script without a
lock. Orphan keys: servers that still have the key after eight callers tried for two seconds and gave up after 20 ms
each time. Locks of other languages were not measured.
`

// rest lists the locks that did not run, with the reasons.
func (t *table) rest(b *bytes.Buffer) {
	b.WriteString("\n## Not judged\n\n")
	for _, e := range t.entries {
		if e.Unjudged != "" {
			fmt.Fprintf(b, "- **%s**: %s.", e.title(), e.Unjudged)
			if e.Adapter != "" {
				fmt.Fprintf(b, " Adapter: [%s](../%s).", path.Base(e.Adapter), e.Adapter)
			}
			b.WriteString("\n")
		} else if !e.ran {
			fmt.Fprintf(b, "- **%s**: not run this time.\n", e.title())
		}
	}
}

const next = `
Next: [reports for the maintainers](findings/README.md), and [what to expect of a lock](expect.md).
`
