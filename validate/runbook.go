package validate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Step is one thing to do, in order: on the running server, in a file, or by hand.
type Step struct {
	// Redis is a command for the running server, one word each; nil: none.
	Redis []string `json:"redis,omitempty"`
	// Client is redis-cli with the flags that reach this server.
	Client string `json:"client,omitempty"`
	// Until lists the lines that INFO persistence must show before the next step.
	Until []string `json:"until,omitempty"`
	// Line replaces Was in the file at Place.
	Line  string         `json:"line,omitempty"`
	Place settings.Place `json:"place"`
	Was   string         `json:"was,omitempty"`
	// Do describes any other step.
	Do   string `json:"do,omitempty"`
	Cost string `json:"cost,omitempty"` // during the step
}

// Runbook is a change that makes a server safe, step by step.
type Runbook struct {
	Name  string `json:"name"`
	Steps []Step `json:"steps"`
	Check string `json:"check"`
	Back  []Step `json:"back"`
	Price string `json:"price"` // permanent
	// Against is set if the runbook helps only against this.
	Against string `json:"against,omitempty"`
	// Verdict is that of the changed server, and Tally counts its trials in virtual time.
	Verdict Verdict `json:"verdict"`
	Tally   Tally   `json:"trials"`

	change func(*Runner) // its effect on the question
}

// runbookTrials is the number of trials of each crash and TTL under a change.
const runbookTrials = 5

// Advise adds the runbooks that make an unsafe server safe, the least expensive first. It judges the server again with
// each change.
func (a *Runner) Advise(ctx context.Context, answer *Answer) error {
	if answer.Verdict != Unsafe && len(answer.Hazards) == 0 ||
		len(a.Server.Unsettled(settings.Kill)) > 0 {
		return nil
	}
	a.Stage("runbooks")
	for _, book := range a.candidates(answer) {
		if slices.ContainsFunc(slices.Concat(book.Steps, book.Back), a.renamed) {
			continue
		}
		runner := *a
		runner.On, runner.Trials, runner.Out, runner.Stage = suite.Virtual, runbookTrials, "", func(string) {}
		book.change(&runner)
		found := &Answer{}
		if err := runner.Judge(ctx, found); err != nil || ctx.Err() != nil {
			return err
		}
		if !helps(answer, found, book.Against) {
			continue
		}
		book.Verdict = found.Verdict
		for _, r := range found.Rows {
			book.Tally.Held += r.Tally.Held
		}
		answer.Runbooks = append(answer.Runbooks, book)
	}
	answer.Runbooks = append(answer.Runbooks, fenced())
	return nil
}

func fenced() Runbook {
	return Runbook{Name: "fencing", Against: "lost updates",
		Check: "a write with an older token than the last is refused", Verdict: Unsafe,
		Price: "the store keeps the highest token of each key, and every write carries one",
		Steps: byHand("take a fencing token with each lock, pass it with every write, and let the store refuse one that " +
			"is older than the last (docs/fencing.md)"),
		Back: byHand("let the store accept writes without a token")}
}

func byHand(do string) []Step { return []Step{{Do: do}} }

// command is a step on this server, and no other.
func (a *Runner) command(words ...string) Step { return Step{Redis: words, Client: a.Server.Client()} }

func (a *Runner) config(name, value string) Step { return a.command("CONFIG", "SET", name, value) }

// renamed reports whether the server renames a step's command.
func (a *Runner) renamed(s Step) bool { return s.Redis != nil && a.Server.Redis.Renames(s.Redis[0]) }

// helps reports whether a change improves a verdict and leaves no crash unsafe that it is against.
func helps(answer, found *Answer, against string) bool {
	if len(found.Hazards) > len(answer.Hazards) {
		return false
	}
	better := len(found.Hazards) < len(answer.Hazards)
	for i, r := range found.Rows {
		if r.Verdict == Unsafe && (against == "" || string(r.Crash) == against) {
			return false
		}
		better = better || answer.Rows[i].Verdict == Unsafe && r.Verdict != Unsafe
	}
	for i, t := range found.Takeovers {
		better = better || answer.Takeovers[i].Verdict == Unsafe && t.Verdict == Safe
	}
	return better
}

// candidates lists possible runbooks, the cheapest first.
func (a *Runner) candidates(answer *Answer) (all []Runbook) {
	redis := a.Server.Redis
	for _, h := range answer.Hazards {
		if h.Name == RewriteHazard {
			all = append(all, a.setting("set no-appendfsync-on-rewrite no",
				"while the file is rewritten, each lock waits for a disk that is busy",
				"no-appendfsync-on-rewrite", "no", func(s *deploy.Server) { s.Redis.NoFsyncOnRewrite = false }))
		} else {
			all = append(all, a.setting("set maxmemory-policy noeviction",
				"a full server refuses writes, locks among them, instead of evicting other users' keys",
				"maxmemory-policy", "noeviction", func(s *deploy.Server) { s.Redis.MaxMemoryPolicy = "noeviction" }))
		}
	}
	if slices.ContainsFunc(answer.Rows, func(r Row) bool { return r.Verdict == Unsafe }) {
		if !redis.AppendOnly {
			all = append(all, a.appendOnly("everysec"), a.appendOnly("always"))
		} else if redis.AppendFsync != "always" {
			all = append(all, a.setting("sync each lock", "each lock waits for an fsync", "appendfsync",
				"always", func(s *deploy.Server) { s.Redis.AppendFsync = "always" }))
			if a.Server.RunsRedis().DoubtsWAITAOF() == "" {
				all = append(all, a.waitAOF())
			}
		}
		all = append(all, a.sleep(), a.shorter(), a.guarded())
	}
	if slices.ContainsFunc(answer.Takeovers, func(r TakeoverRow) bool { return r.Verdict == Unsafe }) &&
		a.Wait < a.Failover.Replicas {
		all = append(all, a.waitForReplicas())
	}
	return all
}

// line is the step that sets a directive in the file that has it, or in the server's command.
func (a *Runner) line(line string) Step {
	redis := a.Server.Redis
	name, _, _ := strings.Cut(line, " ")
	switch at := redis.At(name); {
	case at.Line > 0:
		return Step{Line: line, Place: at, Was: redis.Line(name), Cost: a.Server.Remade()}
	case redis.File != "" && len(redis.Files) > 0:
		return Step{Line: line, Place: settings.Place{File: redis.Files[0]}}
	case a.Server.CommandPlace.Line > 0:
		return Step{Line: "--" + line + " to the server's options", Place: a.Server.CommandPlace, Cost: a.Server.Remade()}
	}
	return Step{Line: line, Place: settings.Place{File: "the redis.conf that the server is started with"}}
}

// setting is the runbook of a directive that CONFIG SET applies at once.
func (a *Runner) setting(title, price, name, value string, change func(*deploy.Server)) Runbook {
	step, before := a.line(name+" "+value), a.Server.Redis.Values()[name]
	return Runbook{Name: title, Price: price,
		Check:  a.Server.Client() + " CONFIG GET says the new value, before and after a restart",
		Steps:  []Step{a.config(name, value), step},
		Back:   []Step{a.config(name, before), {Line: name + " " + before, Place: step.Place, Was: name + " " + value}},
		change: func(q *Runner) { q.Server = q.Server.Changed(change) }}
}

// appendOnly enables the append-only file without a restart: a server that starts with appendonly yes and only a
// snapshot starts empty.
func (a *Runner) appendOnly(fsync string) Runbook {
	price := "each lock is written to a file, which is rewritten from time to time by a child that may need as much " +
		"memory again"
	if fsync == "always" {
		price = "each lock waits for an fsync"
	}
	on, save, line := a.config("appendonly", "yes"), a.command("SAVE"), a.line("appendonly yes")
	on.Cost = "a child writes all keys to disk once; memory may double meanwhile"
	save.Cost = "nobody is answered while it saves"
	line.Cost = strings.TrimPrefix(line.Cost+"; once every server that this line is for has done the steps above: "+
		"another one starts empty", "; ")
	lines := []Step{line}
	if sync := a.line("appendfsync " + fsync); sync.Line != sync.Was {
		lines = append(lines, sync)
	}
	return Runbook{Name: "an append-only file, appendfsync " + fsync, Price: price,
		Check: a.Server.Client() + " DBSIZE before and after a restart of one node; never restart with appendonly yes " +
			"before the rewrite is done: it starts empty",
		Steps: append([]Step{a.config("appendfsync", fsync), on,
			{Do: "wait until the rewrite is done", Client: a.Server.Client(), Until: []string{"aof_rewrite_in_progress:0",
				"aof_rewrite_scheduled:0", "aof_last_bgrewrite_status:ok", "aof_enabled:1"}}}, lines...),
		Back: []Step{save, // before the line, for a crash
			{Line: "appendonly no", Place: a.line("appendonly yes").Place, Was: "appendonly yes"}, a.config("appendonly", "no"),
			a.config("appendfsync", a.Server.Redis.AppendFsync)},
		change: func(q *Runner) {
			q.Server = q.Server.Changed(func(s *deploy.Server) { s.Redis.AppendOnly, s.Redis.AppendFsync = true, fsync })
		}}
}

// sleep delays the server's start until every lock has expired.
func (a *Runner) sleep() Runbook {
	wait := wholeSeconds(Boundary(a.Longest(), a.Drift))
	seconds := int(wait / time.Second)
	step := Step{Place: a.Server.CommandPlace, Cost: a.Server.Remade()}
	switch a.Server.Kind {
	case deploy.Systemd:
		step.Place = a.Server.Place
		step.Line = fmt.Sprintf("ExecStartPre=+/bin/sleep %d, and TimeoutStartSec=%d in [Service] of a drop-in, which "+
			"an upgrade keeps (systemctl edit %s)", seconds, seconds+90, a.Server.Name)
	case deploy.Compose, deploy.Container:
		step.Line = fmt.Sprintf("a sleep before the server, as in: sh -c 'sleep %d && exec %s ...'", seconds,
			a.Server.Command())
	case deploy.Kubernetes:
		step.Line = fmt.Sprintf("a sleep before the server, as in command: [sh, -c, \"sleep %d && exec %s ...\"], and a "+
			"startupProbe that waits for longer", seconds, a.Server.Command())
	default:
		step = Step{Do: fmt.Sprintf("let whatever starts the server run sleep %d before it", seconds)}
	}
	return Runbook{Name: fmt.Sprintf("a start that waits for %d s", seconds), Steps: []Step{step},
		Back:  byHand("take the line out again"),
		Check: fmt.Sprintf("after a restart, %s PING is refused for %d s", a.Server.Client(), seconds),
		Price: fmt.Sprintf("%d s without this server at each restart, also for its other users", seconds),
		change: func(q *Runner) {
			q.Server = q.Server.Changed(func(s *deploy.Server) {
				for crash, r := range s.Returns {
					s.Returns[crash] = deploy.Return{After: max(wait, r.After), Why: "the change"}
				}
			})
		}}
}

// shorter gives the locks a TTL that ends before the server is back.
func (a *Runner) shorter() Runbook {
	least := a.Server.Returns[settings.Kill].After
	for _, crash := range a.Crashes {
		least = min(least, a.Server.Returns[crash].After)
	}
	ttl := time.Duration(float64(least) / (1 + a.Drift)).Truncate(100 * time.Millisecond)
	return Runbook{Name: fmt.Sprintf("a TTL of at most %s", ttl), Check: a.Server.Client() + " PTTL of a lock",
		Price: "locks have to be renewed more often, and a holder that stalls loses its lock sooner",
		Steps: byHand(fmt.Sprintf("give all clients a TTL of at most %s; wait for the longest old one before the next "+
			"restart", ttl)),
		Back: byHand("give the clients their TTL back"), change: func(q *Runner) {
			if ttl > 20*time.Millisecond {
				q.TTLs = slices.Repeat([]time.Duration{ttl}, len(q.TTLs))
			}
		}}
}

// guarded makes the clients refuse votes of a server that started recently.
func (a *Runner) guarded() Runbook {
	longest := fmt.Sprintf("%d*time.Millisecond", a.Longest().Milliseconds())
	if a.Longest()%time.Second == 0 {
		longest = fmt.Sprintf("%d*time.Second", a.Longest()/time.Second)
	}
	return Runbook{Name: "a restart guard in the clients",
		Check: "after a restart, an acquire that needs this node fails until the TTL is over",
		Price: fmt.Sprintf("a node that restarted has no vote for up to %s; if a majority did, nobody gets a lock for "+
			"as long",
			wholeSeconds(Boundary(a.Longest(), a.Drift))+2*time.Second),
		Steps: byHand(fmt.Sprintf("server.Nodes(clients, guard.Servers(guard.Options{Longest: %s})) in all clients, or the "+
			"same in another library: no vote from a server whose INFO "+
			"uptime_in_seconds is below the longest TTL", longest)), Back: byHand("take the option out again"),
		change: func(q *Runner) { q.Guard = true }}
}

// waitAOF makes the clients of a lock on one server wait for its disk.
func (a *Runner) waitAOF() Runbook {
	return Runbook{Name: "WAITAOF after each SET (a lock on one server, Redis 7.2, or 8 and later)",
		Against: string(settings.PowerLoss),
		Check:   "WAITAOF 1 0 1500 answers 1 and 0",
		Price:   "each lock waits for the fsync of everysec, up to a second, and an extension too",
		Steps: byHand("see that INFO says redis_version 7.2, or 8 or later, and no valkey_version; WAITAOF 1 0 1500 on the " +
			"connection of the SET; give the lock up if the first number is 0"),
		Back: byHand("take the command out again"),
		change: func(q *Runner) {
			q.WaitAOF, q.Server = persistenceOf(q.Server.Redis) == cluster.PersistEverysec, q.Server.RunsRedis()
		}}
}

func (a *Runner) waitForReplicas() Runbook {
	counted := *a.Failover
	counted.Uncounted = ""
	number, all, first := fmt.Sprint(counted.Replicas), fmt.Sprintf("all %d replicas", counted.Replicas), ""
	switch {
	case a.Failover.Uncounted != "":
		number, all = "N", "all replicas"
		first = fmt.Sprintf("count all replicas that may be promoted: there are N (%s); ", a.Failover.Uncounted)
	case counted.Replicas == 1:
		all = "the replica"
	}
	return Runbook{Name: "WAIT for " + all, Against: "takeovers",
		Check: fmt.Sprintf("WAIT %s 1000 answers %[1]s", number),
		Price: "each lock waits for the replicas, and nobody gets one while a replica is away",
		Steps: byHand(fmt.Sprintf("%sWAIT %s 1000 on the connection of the SET; give the lock up if fewer answer", first,
			number)),
		Back:   byHand("take the command out again"),
		change: func(q *Runner) { q.Failover, q.Wait = &counted, counted.Replicas }}
}

func wholeSeconds(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
