package main

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// markdown is docs/locks.md.
func (t *table) markdown() []byte {
	var b bytes.Buffer
	b.WriteString(head)
	t.trouble(&b)
	b.WriteString("\n## What can go wrong\n\n" + legend + "\n")
	t.grid(&b)
	t.prices(&b)
	b.WriteString("\n## Lock by lock\n")
	for _, e := range t.entries {
		if e.ran {
			e.section(&b)
		}
	}
	t.rest(&b)
	b.WriteString(beside)
	return b.Bytes()
}

const head = `<!-- written by make league: change league/, not this file -->
# The locks that people use

Each lock over the same catalogue, with the defaults that its users have. A cross stands here only if it was repeated on real
Redis or says that it was not, if its cause was found in the library's code, and with what its author would reply. What rests on how a
lock is used is told apart: (✗). Libraries draw their own
randomness, so that a row may differ from run to run; crosses do not rest on one row alone. What runs on real servers runs in fewer
scenarios, and on a busy machine some show nothing (–); counts have the day on which most trials could be judged.
The [page](../reports/published/league/index.html) has the same with its stories.

## In trouble

`

const legend = `✗ it breaks there. (✗) it depends on how it is used. ? something differed, and nobody has confirmed why: no
cross is published. ✓ as the reference, or better, in as many scenarios. – nothing was shown: not run,
 not applicable, or inconclusive. A ✓ is no proof: it says what was tried.
`

// trouble lists who is in trouble, and for what: what a reader sees first.
func (t *table) trouble(b *bytes.Buffer) {
	b.WriteString("| lock | is in trouble for | on real Redis |\n|---|---|---|\n")
	var calm []string
	for _, e := range t.entries {
		if !e.ran || e.reference() {
			continue
		}
		worst := e.worst()
		if len(worst) == 0 {
			said := e.title()
			for i, c := range e.Depending() {
				said += []string{" (", ", "}[min(i, 1)] + c.Short
			}
			if len(e.Depending()) > 0 {
				said += ")"
			}
			calm = append(calm, said)
		}
		for _, c := range worst {
			fmt.Fprintf(b, "| **%s** | %s%s | %s |\n", e.title(), c.Short, c.link("../"+published+"/"), c.count())
		}
	}
	fmt.Fprintf(b, "\nNothing worse than a wait for a TTL, or what depends on how it is used (in brackets), was found in: %s. All of it is in the table "+
		"and below it.\n", strings.Join(calm, "; "))
}

// worst are the crosses that are the lock's own and cost more than a TTL of waiting.
func (e *entry) worst() []*cross {
	return slices.DeleteFunc(slices.Clone(e.Crosses), func(c *cross) bool { return !c.counts() || minor(c) })
}

// minor says whether a cross costs no more than a TTL of waiting.
func minor(c *cross) bool {
	return c.Scenarios[0] == "late-set" || c.Scenarios[0] == "lost-reply" || c.Scenarios[0] == "cancelled-acquire"
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (e *entry) reference() bool { return e.Module == "lockproof" || e.Module == "" && e.Package == "" }

// title is its name with its version and, if it is not Go, its language.
func (e *entry) title() string {
	said := strings.TrimSpace(e.Name + " " + e.Version)
	if e.Language != "" {
		said += " (" + e.Language + ")"
	}
	return said
}

// count is how often it was seen on real servers, of how many.
func (c *cross) count() string {
	if c.Of == 0 {
		return "not tried"
	}
	return fmt.Sprintf("%d of %d, %s", c.Real, c.Of, c.Day)
}

// evidence says how often it was seen, and where.
func (c *cross) evidence() string {
	if c.Of == 0 {
		return "seen in virtual time only"
	}
	return fmt.Sprintf("%d of %d on real Redis, %s", c.Real, c.Of, c.Day)
}

func (c *cross) link(folder string) string {
	if c.Story == "" {
		return ""
	}
	return fmt.Sprintf(" ([story](%s%s))", folder, c.Story)
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

// prices is what each costs beside safety.
func (t *table) prices(b *bytes.Buffer) {
	b.WriteString("\n## What it costs\n\n" + priced + "\n| lock | servers | pairs a second | of the bare commands' | commands a pair | left behind | " +
		"a hung server |\n|---|---|---|---|---|---|---|\n")
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

const priced = `One caller takes and gives back keys of its own, each lock in turn, round by round, on the same five real servers of this machine: the best of forty short rounds, and medians of commands.
Bare commands are SET NX PX and the script that compares and deletes with no lock around them, on as many servers, until a majority
has answered. Left behind are the servers that still have the key after eight callers wanted it for two seconds and gave up after 20 ms, again and
again, and whoever got it gave it back. A hung server is one of five: how long a caller then waits. Locks of other languages were not measured.
The machine was shared while this ran: compare rows, not numbers of another day.
`

// section tells all of one lock.
func (e *entry) section(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n### %s\n\n", e.title())
	switch {
	case e.Module != "":
		fmt.Fprintf(b, "`%s`, on %s. ", e.Module, e.On)
	case e.Package != "":
		fmt.Fprintf(b, "Debian's `%s`, on %s, by `%s`. ", e.Package, e.On, e.Worker)
	}
	fmt.Fprintf(b, "Set up: %s. Belief: %s. Ran %s.\n", e.SetUp, e.Belief, e.where())
	for _, q := range e.Promises {
		fmt.Fprintf(b, "\nIt says: \"%s\" (`%s`)\n", q.Text, q.Place)
	}
	switch {
	case e.explored != "":
		fmt.Fprintf(b, "\nExplored:\n\n```\n%s\n```\n", e.explored)
	case e.NoExplore:
		b.WriteString("\nNot explored: it hangs for ever in many a schedule, which would show nothing else.\n")
	case e.RealTime:
		b.WriteString("\nNot explored: what is drawn is run in virtual time, and it runs on real servers only.\n")
	default:
		b.WriteString("\nNot explored this time.\n")
	}
	for _, c := range e.Crosses {
		mark := wrong
		if !c.counts() {
			mark = depends
		}
		fmt.Fprintf(b, "\n- %s **%s** %s; %s%s.\n", mark, c.What, "breaks "+cmp.Or(c.Broke, "fault-tolerance: it does not come back"),
			c.evidence(), c.link("../"+published+"/"))
		fmt.Fprintf(b, "  Scenarios: %s. Cause: `%s`.\n", strings.Join(c.Shown, ", "), c.Place)
		if c.Depends != "" {
			fmt.Fprintf(b, "  It depends %s.\n", c.Depends)
		}
		fmt.Fprintf(b, "  Its author may reply: %s.\n", c.Reply)
		if c.Report != "" {
			fmt.Fprintf(b, "  A report is ready: [%s](findings/%s).\n", c.Report, c.Report)
		}
		fmt.Fprintf(b, "  Repeat: `%s`\n", e.repeat(c))
	}
}

// repeat is the command that shows a cross again.
func (e *entry) repeat(c *cross) string {
	if len(c.Confirm) > 0 {
		return fmt.Sprintf("go -C league test . -run 'TestConfirmed/%s$'", e.Test)
	}
	return fmt.Sprintf("go -C league test . -run 'TestLeague/%s$' -scenarios %s", e.Test, c.Shown[0])
}

// where says on what, and how much, it ran.
func (e *entry) where() string {
	if !e.again {
		return "not this time: what stands here was seen before"
	}
	n := 0
	for _, row := range e.rows {
		if row.Counts["skipped"] == 0 {
			n++
		}
	}
	if e.RealTime {
		why := "it dials by itself"
		if e.Worker != "" {
			why = "it is a process of another language"
		}
		return fmt.Sprintf("on real servers (%s), %d scenarios, for %s", e.server, n, why)
	}
	return fmt.Sprintf("in virtual time, %d scenarios", n)
}

// rest says what was not run, and why.
func (t *table) rest(b *bytes.Buffer) {
	b.WriteString("\n## Not judged here\n\n")
	for _, e := range t.entries {
		if e.Unjudged != "" {
			fmt.Fprintf(b, "- **%s**: %s.", e.title(), e.Unjudged)
			if e.Adapter != "" {
				fmt.Fprintf(b, " Adapter: [%s](../%s).", path.Base(e.Adapter), e.Adapter)
			}
			b.WriteString("\n")
		} else if !e.ran {
			fmt.Fprintf(b, "- **%s** %s: not run this time.\n", e.Name, e.Version)
		}
	}
}

const beside = `
## What was predicted

| from reading | came to |
|---|---|
| redlock-go has one token for all attempts of a Lock (redlock/redlock.go:192-193) | so it is read, and no run shows harm: it waits for each release as long as a TTL, before it asks again |
| redsync has one token for all attempts (mutex.go:80, 86) | confirmed, [findings/redsync-one-token.md](findings/redsync-one-token.md) |
| redislock, go-zero and redis-py look at no clock after the SET | so it is read; they tell no validity, so that it is up to their users from when they count, and counted from the call it does no harm |
| redis-py's reacquire with timeout=0 | confirmed, 10 of 10: it deletes the lock and says yes, [findings/redis-py-reacquire-zero.md](findings/redis-py-reacquire-zero.md); it depends on how it is used |
| a plain DEL somewhere | none found in the libraries of the table: each compares first |

What is known of the locks of
other languages besides, with causes and places, is in [other-locks.md](other-locks.md).
`
