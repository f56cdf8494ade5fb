package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Failover is what is known of the replicas that may take a server's place.
type Failover struct {
	// Replicas is how many there are, at the least.
	Replicas int `json:"replicas"`
	// Uncounted says why there may be more; "" if it is known that there are not.
	Uncounted string `json:"uncounted,omitempty"`
	// After is how long a master has to be silent until one is promoted, at the least; 0: it
	// may be at once.
	After time.Duration `json:"after"` // nanoseconds
	Why   string        `json:"why"`   // one clause
	// Never: no Sentinel promotes any of the replicas, so that only a hand does.
	Never bool `json:"never,omitempty"`
	// WithoutAOF says of the replicas that are known to have no append-only file where that
	// is set: WAITAOF never counts one.
	WithoutAOF []string `json:"without_aof,omitempty"`

	unread bool // a Sentinel's file
}

// uncounted is why there may be more replicas than are counted on.
const uncounted = "nothing that was read says how many replicas there are"

// PromotedAtOnce is a failover of which only is known how many replicas there are at the least.
func PromotedAtOnce(replicas int) *Failover {
	return &Failover{Replicas: max(replicas, 1), Uncounted: uncounted, Why: "nothing that was read keeps a replica from being promoted at once"}
}

// downAfter is the setting of Sentinel that says so, in a file of its own, in an argument or
// in a variable of the environment.
var downAfter = regexp.MustCompile(`(?i)down[-_]after[-_]milliseconds["']?[:=\s]+(?:[A-Za-z_][\w.-]*\s+)?["']?(\d{1,9})\b`)

// follows is what makes a server the replica of another.
var follows = regexp.MustCompile(`(?i)(?:replica|slave)of\b|replication[-_]mode["']?[:=\s]+["']?(?:slave|replica)`)

// sentinels takes what a text says of how soon Sentinels act.
func (f *Failover) sentinels(file, text string) {
	for _, line := range strings.Split(text, "\n") {
		found := downAfter.FindStringSubmatch(line)
		if found == nil || isComment(line) {
			continue
		}
		ms, _ := strconv.Atoi(found[1]) // of nine digits at the most
		if after := time.Duration(ms) * time.Millisecond; f.After == 0 || after < f.After {
			f.After, f.Why = after, fmt.Sprintf("Sentinel waits for down-after-milliseconds, %s (%s)", after, file)
		}
	}
}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";")
}

// failoverWord is what says that a replica may take a server's place.
var failoverWord = regexp.MustCompile(`(?i)sentinel|(?:replica|slave)[-_]?of\b|replication[-_]mode`)

// neverPromoted is a replica that Sentinel passes over (sentinelSelectSlave in sentinel.c).
var neverPromoted = regexp.MustCompile(`(?i)(?:replica|slave)-priority["']?[,:\s]+["']?0\b`)

// multiplied is what makes several servers of one that a file describes.
var multiplied = regexp.MustCompile(`(?i)\b(?:replicas|replicaCount|scale)["']?\s*[:=]\s*["']?(?:[2-9]|\d{2,9})\b`)

// noOne is how a server is told that it is nobody's replica; CONFIG GET says it by two quotes.
var noOne = regexp.MustCompile(`(?i)(?:replica|slave)of["']?[,:\s]+(?:["']?no["']?[,\s]+["']?one|""|'')`)

// failover finds out whether replicas may take a server's place, and how soon.
func (p *Policy) failover(disk Files, sources []source) {
	remarks := failovers(sources)
	followers := p.followers(disk, sources)
	replicas, never, many := 0, 0, ""
	var without []string
	for _, r := range followers {
		if r.hidden {
			replicas++
			remarks = append(remarks, mayTakeOver(r.at, "replicaof"))
		}
		if r.noAOF != "" {
			without = append(without, r.noAOF)
		}
	}
	if len(remarks) == 0 {
		return
	}
	p.Remarks = append(p.Remarks, remarks...)
	for _, s := range sources {
		for n, line := range strings.Split(string(s.data), "\n") {
			if several := multiplied.FindString(line); several != "" && many == "" && !isComment(line) {
				many = fmt.Sprintf("%s says %q: it is not known how many of these are replicas", Place{s.file, n + 1}, several)
			}
			if isComment(line) {
				continue
			}
			if here := len(follows.FindAllString(noOne.ReplaceAllString(line, ""), -1)); here > 0 {
				replicas += here
				if len(neverPromoted.FindAllString(line, 2)) == 1 && here == 1 {
					never++
					p.Remarks = append(p.Remarks, Remark{Place: Place{s.file, n + 1}, What: "replica-priority 0: no Sentinel promotes this replica"})
				}
			}
		}
	}
	replicas = max(replicas, len(followers)) // of which several may have one file
	if p.Failover = PromotedAtOnce(replicas); replicas > 0 {
		p.Failover.Uncounted = many
	}
	p.Failover.WithoutAOF = without
	p.Failover.Never = replicas > 0 && never == replicas && slices.ContainsFunc(sources, func(s source) bool {
		return strings.Contains(strings.ToLower(string(s.data)), "sentinel") // which another's promotion does not ask
	})
	for _, s := range sources {
		p.Failover.sentinels(s.file, string(s.data))
	}
	for _, c := range p.sentinels {
		p.Failover.watched(disk, c)
	}
}

// failovers puts every crash in doubt where a file speaks of Sentinels or of replicas:
// after a crash one of these may be made the master, before it has heard of the locks.
// Replication is asynchronous (redis.io, "Distributed Locks with Redis", Why
// failover-based implementations are not enough).
func failovers(sources []source) []Remark {
	var remarks []Remark
	for _, s := range sources {
		for i, line := range strings.Split(string(s.data), "\n") {
			line, _, _ = strings.Cut(line, " #")
			if isComment(line) {
				continue
			}
			word := failoverWord.FindString(noOne.ReplaceAllString(line, ""))
			if word == "" {
				continue
			}
			remarks = append(remarks, mayTakeOver(Place{s.file, i + 1}, word))
			break
		}
	}
	return remarks
}

func mayTakeOver(at Place, word string) Remark {
	return Remark{Place: at, Doubts: Crashes, Failover: true, What: fmt.Sprintf(
		"%q says that a replica may take this server's place: after a crash it may be made the master before it has "+
			"the lock, whatever was fsynced (replication is asynchronous; `lockproof run failover-lock` shows it)", word)}
}
