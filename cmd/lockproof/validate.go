package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockproof/harness/cluster/kinds"
	"lockproof/harness/suite"
	"lockproof/redlock"
	"lockproof/reports"
	"lockproof/reports/html"
	"lockproof/validate"
	"lockproof/validate/settings"
)

// validation is what the flags of validate say.
type validation struct {
	config, policyFile, service string
	sentinel, profile           string
	set, crashes, ignore        []string
	takeovers                   []string
	replicas, wait              int
	waitAOF                     bool
	ttls                        []time.Duration
	delay                       time.Duration
	driftFactor                 float64
	on, out                     string
	trials, frontierTrials      int
	parallel                    int
	seed                        uint64

	frontier, findDelay, drift, pause, throughput, json bool
}

// The trials of each crash and TTL, unless --trials says otherwise: in virtual
// time, and in real time.
const (
	virtualTrials = 100
	realTrials    = 3
	// confirming is how often --find-delay tries what it found: 300 without a
	// violation are at most 1.3 % at 95 %.
	confirming = 300
	// maxReplicas is how many replicas trials can have.
	maxReplicas = 9
)

func (p *program) validateCommand() *cobra.Command {
	v := validation{}
	cmd := &cobra.Command{
		Use:   "validate --config redis.conf --ttl 30s [flags]",
		Short: "Judge persistence and restart settings: do nodes remember the lock?",
		Long: `Reads the redis.conf of the lock's nodes and what brings a node back, lets a node
crash under exactly these settings while a lock is held, and says for each kind
of crash whether a second client got the lock.

Without --config, Redis's defaults; --set adds lines of redis.conf. A node is
back at once unless --restart-delay or --restart-policy says otherwise.

Exit codes: 0 safe; 1 unsafe; 2 inconclusive, or cut short; 3 the harness itself
failed; 64 bad usage or a bad file.`,
		Example: `  lockproof validate --config /etc/redis/redis.conf --ttl 30s
  lockproof validate --config redis.conf --restart-policy redis.service --ttl 30s,5s
  lockproof validate --set 'appendonly yes' --set 'appendfsync always' --ttl 5s --on local
  lockproof validate --config redis.conf --ttl 30s --crash kill --find-delay
  lockproof validate --frontier --drift --pause --ttl 30s`,
		Args: arguments(0, 0, "no argument: the file is given with --config"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			question, err := v.question(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return p.validate(cmd.Context(), question, v)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&v.config, "config", "", "redis.conf of the nodes; what it includes is read too")
	f.StringArrayVar(&v.set, "set", nil, "a line of redis.conf that outranks the file, as in --set 'appendfsync always'; again for more")
	f.DurationSliceVar(&v.ttls, "ttl", []time.Duration{30 * time.Second}, "TTLs of the clients' locks, 20ms to 10m; more with commas")
	f.DurationVar(&v.delay, "restart-delay", 0,
		"how long a node stays away after every crash (default: by --restart-policy, or not at all)")
	f.StringVar(&v.policyFile, "restart-policy", "", "systemd unit, compose file or Kubernetes workload that brings a node back")
	f.StringVar(&v.service, "service", "", "service or container in the --restart-policy (default: the Redis)")
	f.StringSliceVar(&v.crashes, "crash", settings.CrashNames(), "how nodes go down")
	f.StringVar(&v.sentinel, "sentinel", "", "sentinel.conf of the Sentinels that watch the nodes")
	f.StringVar(&v.profile, "service-profile", "", "a managed service, by its documents: "+strings.Join(settings.ServiceNames(), ", "))
	f.IntVar(&v.replicas, "replicas", 0, "how many replicas each node has (default: as the files say)")
	f.StringSliceVar(&v.takeovers, "takeover", validate.TakeoverNames(), "how a replica takes its master's place, where there are any")
	f.IntVar(&v.wait, "wait", 0, "for how many replicas the lock waits, by WAIT on the connection of its SET")
	f.BoolVar(&v.waitAOF, "waitaof", false,
		"the lock, on one server, waits by WAITAOF for its disk and those of --wait replicas (Redis 7.2 or later)")
	f.StringSliceVar(&v.ignore, "ignore", nil, "unknown directives that you know not to matter")
	f.StringVar(&v.on, "on", suite.Virtual, "cluster: "+strings.Join(kinds.Names(), ", "))
	f.IntVar(&v.trials, "trials", 0, fmt.Sprintf("trials of each crash and TTL (default: %d, in real time %d)", virtualTrials, realTrials))
	f.Uint64Var(&v.seed, "seed", 1, "seed of the first trial; each further one adds 1")
	f.Float64Var(&v.driftFactor, "drift-factor", redlock.DefaultDrift, "the lock's drift factor; clocks are as wrong as it allows")
	f.BoolVar(&v.findDelay, "find-delay", false, "search for the smallest restart delay without a violation")
	f.BoolVar(&v.frontier, "frontier", false, "draw where safe settings end, over delay, TTL, fsync policy and crash")
	f.IntVar(&v.frontierTrials, "frontier-trials", 10_000, "trials of the frontier, at the least")
	f.BoolVar(&v.drift, "drift", false, "find how large a clock error the drift factor covers")
	f.BoolVar(&v.pause, "pause", false, "find how long a client may stall after it has checked its deadline")
	f.BoolVar(&v.throughput, "throughput", false, "measure what persistence costs, on real Redis (default with --on local and docker)")
	f.BoolVar(&v.json, "json", false, "print the answer as JSON")
	f.StringVar(&v.out, "out", "out", "folder for results and histories")
	f.IntVar(&v.parallel, "parallel", 0, "trials at a time (default: what suits the cluster)")
	return cmd
}

// question checks the flags and reads the files.
func (v *validation) question(given func(string) bool) (validate.Question, error) {
	q := validate.Question{TTLs: v.ttls, On: v.on, Seed: v.seed, Drift: v.driftFactor, Parallel: v.parallel, Out: v.out, Ignore: v.ignore}
	if err := v.check(given); err != nil {
		return q, err
	}
	slices.SortFunc(q.TTLs, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	q.TTLs = slices.Compact(q.TTLs)
	for _, c := range settings.Crashes {
		if slices.Contains(v.crashes, string(c)) {
			q.Crashes = append(q.Crashes, c)
		}
	}
	if q.Trials = v.trials; !given("trials") {
		q.Trials = realTrials
		if !kinds.RealTime(v.on) {
			q.Trials = virtualTrials
		}
	}
	if !given("throughput") {
		v.throughput = kinds.RealTime(v.on)
	}
	q.Takeovers, q.Wait, q.WaitAOF = validate.AskedTakeovers(v.takeovers), v.wait, v.waitAOF
	for _, s := range settings.Services() {
		if s.Name == v.profile {
			q.Service, q.Crashes = &s, nil
		}
	}
	files := *v
	again := func(disk settings.Files) (validate.Question, error) { return files.read(q, disk, given) }
	q, err := again(settings.Disk)
	if err != nil {
		return q, usage("%w", err)
	}
	q.Again = again
	if q.Service != nil && q.Service.Durable {
		q.Wait = q.Failover.Replicas
	}
	if err := waitsForDisks(q); err != nil {
		return q, err
	}
	if q.Failover != nil && q.Wait > q.Failover.Replicas {
		return q, usage("--wait %d: there are %d replicas to wait for: give --replicas if there are more", q.Wait, q.Failover.Replicas)
	}
	return q, nil
}

// waitsForDisks refuses a WAITAOF that would never have what it waits for: nobody would be
// granted the lock, which is not to be called safe.
func waitsForDisks(q validate.Question) error {
	at, set := q.Redis.At("appendonly")
	switch {
	case !q.WaitAOF:
		return nil
	case !q.Redis.AppendOnly && q.Redis.Unread != "":
		return usage("--waitaof: it is not known whether there is an append-only file to wait for: %s", q.Redis.Unread)
	case !q.Redis.AppendOnly && set:
		return usage("--waitaof: %s says appendonly no, and without an append-only file Redis refuses WAITAOF, so that nobody would be "+
			"granted the lock: say appendonly yes there", at)
	case !q.Redis.AppendOnly:
		return usage("--waitaof: there is no append-only file to wait for, and Redis refuses WAITAOF: add --set 'appendonly yes'")
	case q.Failover.NeverOnDisk(q.Wait):
		return usage("--waitaof --wait %d: nobody would be granted the lock, for WAITAOF never counts a replica without an append-only file: "+
			"%s; say appendonly yes there, or leave --waitaof out", q.Wait, strings.Join(q.Failover.WithoutAOF, ", and "))
	}
	return nil
}

// read reads all that a question's files say.
func (v *validation) read(q validate.Question, disk settings.Files, given func(string) bool) (validate.Question, error) {
	var err error
	if q.Policy, err = v.policy(disk, given); err != nil {
		return q, err
	}
	if q.Redis, err = disk.ReadSettings(v.config, v.set, q.Policy); err != nil {
		return q, err
	}
	q.Failover, err = v.failover(disk, q)
	return q, err
}

// failover is what is known of the nodes' replicas, nil where nothing speaks of any.
func (v *validation) failover(disk settings.Files, q validate.Question) (*settings.Failover, error) {
	if q.Service != nil {
		return q.Service.Failover(v.replicas), nil
	}
	found := q.Policy.Failover
	if v.sentinel != "" {
		before := found
		var err error
		if before == nil {
			before = settings.PromotedAtOnce(0)
		}
		if found, err = disk.ReadSentinel(v.sentinel, before.Replicas); err != nil {
			return nil, err
		}
		found.Never, found.Uncounted, found.WithoutAOF = before.Never, before.Uncounted, before.WithoutAOF
	}
	if found == nil && (v.replicas > 0 || v.wait > 0 || q.Redis.Replicates()) {
		found = settings.PromotedAtOnce(max(1, v.wait, q.Redis.MinReplicas))
	}
	if found != nil && v.replicas > 0 {
		found.Replicas, found.Never, found.Uncounted = v.replicas, found.Never && v.replicas == found.Replicas, ""
	}
	return found, nil
}

// policy is what brings nodes back.
func (v *validation) policy(disk settings.Files, given func(string) bool) (policy settings.Policy, err error) {
	policy = settings.Delayed(0, "nothing keeps it away: no --restart-delay and no --restart-policy")
	if v.policyFile != "" {
		if policy, err = disk.ReadPolicy(v.policyFile, v.service); err != nil {
			return policy, err
		}
	}
	if given("restart-delay") {
		policy.Returns, policy.Given = settings.Delayed(v.delay, "--restart-delay").Returns, true
	}
	return policy, nil
}

// check refuses what lies out of bounds or does not exist.
func (v *validation) check(given func(string) bool) error {
	switch {
	case len(v.ttls) == 0:
		return usage("--ttl is empty: give the TTLs of your locks, as in --ttl 30s,5s")
	case len(v.crashes) == 0:
		return usage("--crash is empty: there are %s", strings.Join(settings.CrashNames(), ", "))
	case given("config") && v.config == "":
		return usage("--config is empty: name the redis.conf, as in --config /etc/redis/redis.conf")
	case slices.Contains([]string{".yaml", ".yml", ".json", ".service"}, filepath.Ext(v.config)):
		return usage("--config %s: that is no redis.conf; what a Compose file, a manifest or a unit says of the server is read with --restart-policy %[1]s",
			v.config)
	case given("trials") && (v.trials < 1 || v.trials > maxTrials):
		return usage("--trials %d: give a number from 1 to %d", v.trials, maxTrials)
	case v.frontierTrials < 1 || v.frontierTrials > 10*maxTrials:
		return usage("--frontier-trials %d: give a number from 1 to %d", v.frontierTrials, 10*maxTrials)
	case v.delay < 0 || v.delay > time.Hour:
		return usage("--restart-delay %s: give a time from 0s to 1h, as in --restart-delay 35s", v.delay)
	case v.driftFactor < 0 || v.driftFactor > 0.5:
		return usage("--drift-factor %g: give a part of the TTL from 0 to 0.5, as in --drift-factor 0.01", v.driftFactor)
	case given("parallel") && (v.parallel < 1 || v.parallel > maxParallel):
		return usage("--parallel %d: give a number from 1 to %d", v.parallel, maxParallel)
	case v.out == "":
		return usage("--out is empty: name a folder, as in --out out")
	case v.service != "" && v.policyFile == "":
		return usage("--service names a service in a file: give the file with --restart-policy")
	case v.replicas < 0 || v.replicas > maxReplicas:
		return usage("--replicas %d: give a number from 1 to %d", v.replicas, maxReplicas)
	case v.wait < 0 || v.wait > maxReplicas:
		return usage("--wait %d: give a number from 0 to %d", v.wait, maxReplicas)
	case given("service-profile") && !slices.Contains(settings.ServiceNames(), v.profile):
		return usage("--service-profile %s: there is no such service: %s", v.profile, suggest(v.profile, settings.ServiceNames()))
	case v.profile != "" && slices.ContainsFunc([]string{"config", "set", "restart-policy", "restart-delay", "sentinel", "crash", "wait", "waitaof"}, given):
		return usage("--service-profile is judged by its documents: leave files, settings, --crash, --wait and --waitaof out")
	case given("sentinel") && v.sentinel == "":
		return usage("--sentinel is empty: name the file, as in --sentinel /etc/redis/sentinel.conf")
	case len(v.takeovers) == 0:
		return usage("--takeover is empty: there are %s", strings.Join(validate.TakeoverNames(), ", "))
	case !slices.Contains(kinds.Names(), v.on):
		return usage("--on %s: there is no such cluster: %s", v.on, suggest(v.on, kinds.Names()))
	}
	for _, ttl := range v.ttls {
		if ttl < minTTL || ttl > maxTTL {
			return usage("--ttl %s: a TTL lies between 20ms and 10m, as in --ttl 30s", ttl)
		}
	}
	for _, t := range v.takeovers {
		if !slices.Contains(validate.TakeoverNames(), t) {
			return usage("--takeover %s: there is no such takeover: %s", t, suggest(t, validate.TakeoverNames()))
		}
	}
	var known []string
	for _, c := range settings.Crashes {
		known = append(known, string(c))
	}
	for _, c := range v.crashes {
		if !slices.Contains(known, c) {
			return usage("--crash %s: there is no such crash: %s", c, suggest(c, known))
		}
	}
	return nil
}

// validate finds the answer, reports, and gives the exit code as an error.
func (p *program) validate(ctx context.Context, q validate.Question, v validation) error {
	folder, err := p.folder(q.Out)
	if err != nil {
		return err
	}
	defer folder.Close()
	ctx, stop := p.interruptible(ctx)
	defer stop()
	started := time.Now()
	stages := p.stages()
	answer := &validate.Answer{}
	asker := &validate.Asker{Question: q, Suite: p.suite, Stage: stages.next, Observe: stages.observe}
	err = v.ask(ctx, asker, answer)
	stages.finish()
	if err != nil {
		return failed(err)
	}
	answer.Trials, answer.Elapsed, answer.Failure = stages.done, time.Since(started), asker.Failure
	answer.Interrupted = ctx.Err() != nil
	answer.Settle()
	return p.reportValidation(reports.NewValidation(answer, version(), started), v)
}

// ask goes through all that is asked for. What ctx cuts short is told as far as
// it went.
func (v validation) ask(ctx context.Context, a *validate.Asker, answer *validate.Answer) error {
	if err := a.Judge(ctx, answer); err != nil {
		return err
	}
	if err := a.Availability(ctx, answer); err != nil {
		return err
	}
	if v.throughput {
		measured, err := a.MeasureThroughput(ctx)
		if err != nil {
			answer.Skipped = append(answer.Skipped, "throughput: "+err.Error())
		}
		answer.Throughput = measured
	}
	if err := a.Advise(ctx, answer); err != nil {
		return err
	}
	var err error
	if v.findDelay {
		if answer.Delays, err = a.FindDelay(ctx, confirming); err != nil {
			return err
		}
	}
	if v.drift {
		if answer.Drifts, err = a.Drifts(ctx); err != nil {
			return err
		}
	}
	if v.pause {
		if answer.Pauses, err = a.Pauses(ctx); err != nil {
			return err
		}
	}
	if v.frontier {
		return v.drawFrontier(ctx, a, answer)
	}
	return nil
}

func (v validation) drawFrontier(ctx context.Context, a *validate.Asker, answer *validate.Answer) error {
	f, err := a.Measure(ctx, v.frontierTrials)
	if err != nil {
		return err
	}
	answer.Frontier = f
	if f.Checks, err = a.Confirm(ctx); err != nil {
		answer.Skipped = append(answer.Skipped, "the frontier on real Redis: "+err.Error())
	}
	return nil
}

// reportValidation writes the answer's files and then prints it.
func (p *program) reportValidation(v *reports.Validation, flags validation) error {
	page := func(w io.Writer) error { return html.WriteValidation(w, v) }
	paths, err := v.WriteFiles(flags.out, reports.File{Name: reports.ValidationPageFile, Write: page})
	p.tell(func(w io.Writer) error {
		if flags.json {
			return v.WriteJSON(w)
		}
		_, err := io.WriteString(w, v.Text(p.screen))
		return errors.Join(err, listWritten(w, flags.out, paths))
	})
	return conclude(v.ExitCode, err)
}
