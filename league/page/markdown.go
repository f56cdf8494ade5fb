package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// markdown is docs/locks.md.
func (t *table) markdown() []byte {
	var b bytes.Buffer
	b.WriteString(head)
	t.trouble(&b)
	b.WriteString("\n## What can go wrong\n\n" + legend + "\n")
	t.grid(&b)
	b.WriteString("\n## Lock by lock\n")
	for _, e := range t.entries {
		if e.ran {
			e.section(&b)
		}
	}
	t.rest(&b)
	b.WriteString(others)
	return b.Bytes()
}

const head = `<!-- written by make league: change league/, not this file -->
# The locks that people use

Each lock over the same catalogue, with the defaults that its users have. A cross stands here only if it was repeated on real
Redis or says that it was not, if its cause was found in the library's code, and with what its author would reply. What rests on how a
lock is used is told apart: (✗). Libraries draw their own
randomness, so that a row may differ from run to run; crosses do not rest on one row alone.
The [page](../reports/published/league/index.html) has the same with its stories.

## In trouble

`

const legend = `✗ it breaks there. (✗) it depends on how it is used. ? something differed, and nobody has confirmed why: no
cross is published. ✓ as the reference, or better, in as many scenarios. – nothing was shown: not run,
 not applicable, or inconclusive. A ✓ is no proof: it says what was tried.
`

// trouble lists who is in trouble, and for what: what a reader sees first.
func (t *table) trouble(b *bytes.Buffer) {
	for _, e := range t.entries {
		if e.reference() {
			continue
		}
		for _, c := range e.Crosses {
			if c.counts() && !minor(c) {
				fmt.Fprintf(b, "- **%s** %s: %s. %s%s\n", e.Name, e.Version, c.What, upper(c.evidence()), c.link("../"+published+"/"))
			}
		}
	}
	b.WriteString("\nSmaller things, and what many have in common, are in the table and below it.\n")
}

// minor says whether a cross costs no more than a TTL of waiting.
func minor(c *cross) bool {
	return c.Scenarios[0] == "late-set" || c.Scenarios[0] == "cancelled-acquire"
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (e *entry) reference() bool { return e.Module == "lockproof" || e.Module == "" }

// evidence says how often it was seen, and where.
func (c *cross) evidence() string {
	if c.Of == 0 {
		return "seen in virtual time only"
	}
	return fmt.Sprintf("%d of %d on real Redis", c.Real, c.Of)
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
		fmt.Fprintf(b, "| %s %s |", e.Name, e.Version)
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

// section tells all of one lock.
func (e *entry) section(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n### %s %s\n\n", e.Name, e.Version)
	if e.Module != "" {
		fmt.Fprintf(b, "`%s`, on %s. ", e.Module, e.On)
	}
	fmt.Fprintf(b, "Set up: %s. Belief: %s. Ran %s.\n", e.SetUp, e.Belief, e.where())
	for _, q := range e.Promises {
		fmt.Fprintf(b, "\nIt says: \"%s\" (`%s`)\n", q.Text, q.Place)
	}
	if e.explored != "" {
		fmt.Fprintf(b, "\nExplored:\n\n```\n%s\n```\n", e.explored)
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
	n := 0
	for _, row := range e.rows {
		if row.Counts["skipped"] == 0 {
			n++
		}
	}
	if e.RealTime {
		return fmt.Sprintf("on real servers (%s), %d scenarios, for it dials by itself", e.server, n)
	}
	return fmt.Sprintf("in virtual time, %d scenarios", n)
}

// rest says what was not run, and why.
func (t *table) rest(b *bytes.Buffer) {
	b.WriteString("\n## Not judged here\n\n")
	for _, e := range t.entries {
		if e.Unjudged != "" {
			fmt.Fprintf(b, "- **%s** %s: %s.\n", e.Name, e.Version, e.Unjudged)
		} else if !e.ran {
			fmt.Fprintf(b, "- **%s** %s: not run this time.\n", e.Name, e.Version)
		}
	}
	b.WriteString(unbuilt)
}

const unbuilt = `- **machinery v2** v2.0.13: its lock does not compile beside go-redis 9.23 (locks/redis/redis.go:67 calls Context, which
  go-redis has not any more). Version 1 is above.
- **dapr lock.redis** v1.14.0, the newest that can be had whole: does not compile beside go-redis 9.23
  (common/component/redis/v9client.go:295), which Lockproof needs.
- **livekit LockRoom**, livekit-server v1.13.11: does not compile with the versions of its own requirements that can be had
  (pkg/rtc/transport.go:391).
- **gitea's globallock** v1.27.3: dials by itself, with an expiry of 30 s that cannot be set, so that the catalogue would take
  hours. Read, not run: it is redsync, and modules/globallock/redis_locker.go:128-131 passes over an extension that fails,
  as its comment says.
`

const others = `
## In other languages

Run by workers (` + "`lockproof run --worker CMD --on local`" + `), row by row in [other-locks.md](other-locks.md).

| lock | a reply is lost, or a SET lands late | one server hangs | many ask at once | clocks differ a little | the caller gives up |
|---|---|---|---|---|---|
| redis-py 4.3.4 | ✗ nothing is deleted after a SET without an answer: 10 of 10, 10 of 10 | – | – | ✓ | ✗ the same: 10 of 10 |
| Symfony Lock 5.4 | ✗ the same: 6 of 10, where half a TTL is allowed | – | – | ✗ no margin for clocks: 10 of 10 | ✓ |
| malkusch/lock 2.2.1 | ✓ | ✓ 10 of 10 | ? once in ten, eight inconclusive: no cross | ✓ | – inconclusive, ten times |
| the lock of Redis's documents on node-redis 4.5.1 | ✗ nothing is deleted: 10 of 10 | – | – | ✓ | ✓ |
| the same in Java 17 | ✗ the same, seen once | – | – | ✓ | ✗ the same, seen once |

Counts are of trials on real Redis 7.0.15. What [other-locks.md](other-locks.md) says of each, with causes and places, rests on one or two
trials each: of malkusch/lock's crosses there, none was repeated here often enough to be published as one.
redis-py's ` + "`reacquire`" + ` of a lock with timeout=0 deletes it and says yes, 10 of 10:
[findings/redis-py-reacquire-zero.md](findings/redis-py-reacquire-zero.md); it depends on how it is used.
`
