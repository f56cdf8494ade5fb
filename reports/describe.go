package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockproof/checker"
	"lockproof/harness/history"
)

// Describe says in a few words what an event is, and then what else it holds.
func Describe(e history.Event) (what, detail string) {
	switch {
	case e.Header != nil:
		return "the run begins", ""
	case e.Fault != nil:
		return FaultText(*e.Fault), faultDetail(*e.Fault)
	case e.Command != nil:
		return commandWhat(e), commandDetail(*e.Command)
	case e.Node != nil:
		return lookText(*e.Node), ""
	case e.Clock != nil:
		return clockSetText(*e.Clock, e.Time), ""
	}
	switch e.Type {
	case history.TypeLost:
		return "is told that its lease is lost", e.Error
	case history.TypeCancel:
		return "is told to give up what it has under way", ""
	case history.TypeStall:
		return "was held up for " + Duration(time.Duration(e.Late)), ""
	case history.TypeNote:
		return "script: " + e.Text, ""
	case history.TypeEnd:
		return "the run ends", ""
	case history.TypeInvoke:
		return strings.TrimSpace(fmt.Sprintf("calls %s %s", e.Op, e.Key)), operationDetail(e)
	}
	return fmt.Sprintf("%s: %s", e.Op, e.Type), operationDetail(e)
}

// FaultText says in words what a fault does to its targets.
func FaultText(f history.Fault) string { return faultText(f, f.Targets) }

func faultDetail(f history.Fault) string {
	var parts []string
	if q := quantities(f.Requested); q != "" {
		parts = append(parts, "asked: "+q)
	}
	if q := quantities(f.Measured); q != "" {
		parts = append(parts, "measured: "+q)
	}
	if f.Background {
		parts = append(parts, "part of the setting")
	}
	return strings.Join(parts, "; ")
}

func commandWhat(e history.Event) string {
	if e.Type == history.TypeReply {
		return e.Command.Name + " is answered: " + e.Command.Reply
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s arrives", e.Command.Name, e.Command.Key))
}

// effects are what commands do to a lock's key.
var effects = map[history.Effect]string{
	history.EffectSet: "the key is taken", history.EffectExtend: "the expiry is set anew", history.EffectDelete: "the key is gone",
}

func commandDetail(c history.Command) string {
	var parts []string
	if c.Token != "" {
		parts = append(parts, "token "+shortToken(c.Token))
	}
	if c.Expiry > 0 {
		parts = append(parts, "expiry "+at(c.Expiry))
	}
	if done := effects[c.Effect]; c.Done && done != "" {
		parts = append(parts, done)
	}
	return strings.Join(parts, ", ")
}

// withoutEnd is a validity that no TTL gives: that of a lock that keeps itself extended.
const withoutEnd = 24 * time.Hour

// validity says for how long a lease is valid as it is granted.
func validity(d int64) string {
	if time.Duration(d) >= withoutEnd {
		return "until it is released"
	}
	return "for " + at(d)
}

// lasting says how long something lasts that may have no end.
func lasting(d int64) string {
	if time.Duration(d) >= withoutEnd {
		return "an unlimited time"
	}
	return at(d)
}

func operationDetail(e history.Event) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Op == history.OpWrite && e.Value != "" {
		add("%s, derived from %s", e.Value, checker.VersionName(e.Base))
	} else if e.Op == history.OpRead && e.Type == history.TypeOK {
		add("%s", checker.VersionName(e.Value))
	}
	if e.Validity > 0 {
		add("valid %s", validity(e.Validity))
	}
	if e.Fence > 0 {
		add("fencing token %d", e.Fence)
	}
	if e.Op == history.OpAcquire && e.Token != "" {
		add("token %s", shortToken(e.Token))
	}
	if e.Reason != "" {
		add("%s", e.Reason)
	}
	if e.Error != "" {
		add("%s", e.Error)
	}
	return strings.Join(parts, ", ")
}

func lookText(n history.Node) string {
	if !n.Up {
		return "a look: it is down"
	}
	return "a look: " + keysText(n) + replicationText(n.Replication)
}

// replicationText says what a server's part in replication is.
func replicationText(r *history.Replication) string {
	switch {
	case r == nil:
		return ""
	case r.Role == history.RoleMaster:
		return fmt.Sprintf("; a master, at offset %d", r.Offset)
	case r.Linked:
		return fmt.Sprintf("; a replica, at offset %d", r.Offset)
	}
	return fmt.Sprintf("; a replica without its master, at offset %d", r.Offset)
}

func keysText(n history.Node) string {
	var keys []string
	for _, name := range slices.Sorted(maps.Keys(n.Keys)) {
		state := n.Keys[name]
		ttl := at(state.TTL)
		if state.TTL < 0 {
			ttl = "for ever"
		}
		keys = append(keys, fmt.Sprintf("%s has token %s, %s", name, shortToken(state.Token), ttl))
	}
	if len(keys) == 0 {
		return "it is up, without a key"
	}
	return strings.Join(keys, "; ")
}

func clockSetText(c history.Clock, now int64) string {
	if skew := skewText(c, now); skew != "" {
		return "its clock is set: " + skew
	}
	return "its clock is right"
}

// shortToken is enough of a token to tell it from another.
func shortToken(token string) string {
	if r := []rune(token); len(r) > 8 {
		return string(r[:8]) + "…"
	}
	return token
}
