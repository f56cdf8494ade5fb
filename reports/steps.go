package reports

import (
	"fmt"
	"strconv"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/nemesis"
	"lockproof/scenarios"
)

// StepText says in words what a step of a script does.
func StepText(s scenarios.Step) string {
	text := strings.TrimSpace(action(s) + asides(s))
	if s.Must != "" {
		text += "; it must " + map[string]string{"ok": "succeed", "fail": "fail"}[s.Must]
	}
	return text
}

// clientVerbs are what clients do to the lock and the store, as they are said
// of one client.
var clientVerbs = map[scenarios.Verb]string{
	scenarios.VerbAcquire: "acquires",
	scenarios.VerbExtend:  "extends its lease",
	scenarios.VerbRelease: "releases the lock",
	scenarios.VerbCheck:   "checks whether its lease is still valid",
	scenarios.VerbRead:    "reads the register",
	scenarios.VerbWrite:   "writes the register",
	scenarios.VerbWatch:   "keeps its lease extended from here on",
	scenarios.VerbCancel:  "cancels what it is doing",
}

// nodeVerbs are what is done to processes.
var nodeVerbs = map[scenarios.Verb]string{
	nemesis.Kill:                 "kill %s (SIGKILL)",
	nemesis.Shutdown:             "shut %s down cleanly (SHUTDOWN)",
	nemesis.PowerLoss:            "cut the power of %s: what was not fsynced is gone",
	nemesis.Start:                "start %s again",
	nemesis.Pause:                "pause %s (SIGSTOP)",
	nemesis.Resume:               "let %s run on (SIGCONT)",
	nemesis.Flush:                "flush %s (FLUSHALL)",
	nemesis.FailFsync:            "let each fsync of %s fail (EIO)",
	nemesis.FillDisk:             "fill the disk of %s (ENOSPC)",
	nemesis.Rewrite:              "rewrite the append-only file of %s (BGREWRITEAOF)",
	nemesis.Fill:                 "let another user fill the memory of %s",
	nemesis.Disconnect:           "take %s out of its network",
	nemesis.Cut:                  "cut %s",
	nemesis.Heal:                 "heal %s",
	nemesis.LetGo:                "let go what is held on %s",
	nemesis.Promote:              "make %s a master (REPLICAOF NO ONE)",
	scenarios.VerbAwaitSync:      "wait until %s has every write of its master",
	scenarios.VerbAwaitPromotion: "wait until Sentinel has made %s the master",
	scenarios.VerbAwait:          "wait for the outcome of %s",
}

func action(s scenarios.Step) string {
	who := list(s.Targets)
	if does, ok := clientVerbs[s.Verb]; ok {
		if s.Key != "" {
			does += " " + map[bool]string{true: s.Key, false: "of " + s.Key}[s.Verb == scenarios.VerbAcquire]
		}
		return who + " " + does
	}
	if done, ok := nodeVerbs[s.Verb]; ok {
		return fmt.Sprintf(done, who) + way(s)
	}
	switch s.Verb {
	case scenarios.VerbWait:
		return "wait " + s.Wait.String()
	case scenarios.VerbUntil:
		return untilText(s)
	case nemesis.Delay:
		if s.By.IsZero() {
			return "take the delay off " + who + way(s)
		}
		return fmt.Sprintf("delay %s by %s one way", who, s.By) + way(s)
	case nemesis.SlowFsync:
		return fmt.Sprintf("slow each fsync of %s by %s", who, s.By)
	case nemesis.Clock:
		return clockText(s)
	case nemesis.Hold, nemesis.Lose, nemesis.Drop:
		return interceptText(s)
	}
	return string(s.Verb) + ": " + who
}

// way says in which direction a fault on a link works, if only in one.
func way(s scenarios.Step) string {
	switch s.Direction {
	case cluster.ToNode:
		return ", towards the node only"
	case cluster.ToClient:
		return ", towards the client only"
	}
	return ""
}

func untilText(s scenarios.Step) string {
	has := s.Has
	if has == "" {
		has = "received"
	}
	var parts []string
	for _, link := range s.Targets {
		client, node, _ := strings.Cut(link, "-")
		parts = append(parts, fmt.Sprintf("%s has %s %s's %s", node, has, client, s.Of))
	}
	return "wait until " + strings.Join(parts, " and ")
}

func clockText(s scenarios.Step) string {
	var parts []string
	switch {
	case s.Jump.TTLs < 0 || s.Jump.Fixed < 0 && s.Jump.TTLs == 0:
		back := scenarios.Span{TTLs: -s.Jump.TTLs, Fixed: -s.Jump.Fixed}
		parts = append(parts, "jump back by "+back.String())
	case !s.Jump.IsZero():
		parts = append(parts, "jump forward by "+s.Jump.String())
	}
	if s.Rate != 0 {
		parts = append(parts, "run at "+strconv.FormatFloat(s.Rate, 'g', -1, 64)+" times the true rate")
	}
	return fmt.Sprintf("let the clock of %s %s", list(s.Targets), strings.Join(parts, " and "))
}

func interceptText(s scenarios.Step) string {
	verb := map[scenarios.Verb]string{
		nemesis.Hold: "hold", nemesis.Lose: "lose", nemesis.Drop: "drop",
	}[s.Verb]
	next := "next " + s.Of
	if s.Times > 1 {
		next = fmt.Sprintf("next %d %s", s.Times, s.Of)
	}
	if s.Part == cluster.PartReply {
		next = "reply to the " + next
	}
	text := fmt.Sprintf("%s the %s on %s", verb, next, list(s.Targets))
	if s.Verb == nemesis.Drop {
		text += " and close the connection"
	}
	return text
}

// asides are the modifiers that qualify the action as a whole.
func asides(s scenarios.Step) string {
	var text string
	if len(s.Reaching) > 0 {
		text += ", from here on reaching only " + list(s.Reaching)
	}
	if !s.For.IsZero() {
		text += " for " + s.For.String()
	}
	if !s.After.IsZero() {
		text += ", and start again after " + s.After.String()
	}
	if !s.Within.IsZero() {
		text += ", within " + s.Within.String()
	}
	if s.Async {
		text += ", and the script goes on meanwhile"
	}
	return text
}

// RandomText says in words what one kind of fault of a seeded schedule does.
func RandomText(r scenarios.Random) string {
	step := scenarios.Step{Verb: r.Fault, Targets: []string{"some of " + list(r.Among)},
		Direction: r.Direction, By: r.By, Jump: r.Jump, Rate: r.Rate}
	if r.Count > 0 && r.Count < len(r.Among) {
		step.Targets = []string{fmt.Sprintf("%d of %s", r.Count, list(r.Among))}
	}
	text := fmt.Sprintf("every %s: %s", rangeText(r.Every), action(step))
	if !r.For.Min.IsZero() || !r.For.Max.IsZero() {
		text += " for " + rangeText(r.For)
	}
	return text
}

func rangeText(r scenarios.Range) string {
	if r.Min == r.Max {
		return r.Min.String()
	}
	return r.Min.String() + " to " + r.Max.String()
}
