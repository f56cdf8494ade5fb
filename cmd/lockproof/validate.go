package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/redlock"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/validation"
	"example.org/lockproof/validate"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// validateFlags are what the flags of validate say.
type validateFlags struct {
	config, service   string
	files             []string // arguments
	sentinel          string
	redis             string
	set, crashes      []string
	ignore, takeovers []string
	replicas, wait    int
	waitAOF, guard    bool
	ttls              []time.Duration
	delay             time.Duration
	driftFactor       float64
	on, out, format   string
	trials, parallel  int
	seed              uint64

	json, verbose bool
	given         func(flag string) bool
}

// The trials of each crash and TTL, unless --trials says otherwise: in virtual
// time, and in real time.
const (
	virtualTrials = 30
	realTrials    = 3
)

func (p *program) validateCommand() *cobra.Command {
	v := validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate [FILE ...] --ttl 30s [flags]",
		Short: "Judge what your lock servers run with: do they remember the lock?",
		Long: `Reads what runs a lock's server, and says for a kill, a shutdown and a power loss
whether a second client can get the lock. A server is safe only if everything that
matters is known: what is not understood is in doubt, with file and line.

FILE is a redis.conf, a systemd unit, a compose file, Kubernetes objects
(kubectl get -o yaml, helm template), docker inspect, or redis-cli CONFIG GET '*' and
INFO; "-" is standard input. Several files are read as parts of one deployment. Of a
directory, all that is known is judged, one line a finding.

Exit codes: 0 safe; 1 unsafe; 4 in doubt, or cut short; 3 the harness itself failed;
64 bad usage or a bad file. Nothing is written unless --out is given.`,
		Example: `  lockproof validate /etc/redis/redis.conf /lib/systemd/system/redis.service --ttl 30s
  lockproof validate compose.yaml --ttl 30s,5s --verbose
  kubectl get statefulset,configmap -o yaml | lockproof validate - --ttl 30s
  lockproof validate --redis host:6379 --ttl 30s
  lockproof validate deploy/ --format github`,
		RunE: func(cmd *cobra.Command, args []string) error {
			v.files, v.given = args, cmd.Flags().Changed
			return p.validateAll(cmd.Context(), v)
		},
	}
	v.define(cmd.Flags())
	return cmd
}

// define adds the flags.
func (v *validateFlags) define(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&v.config, "config", "", "redis.conf that the server is started with; what it includes is read too")
	f.StringVar(&v.redis, "redis", "",
		"a running server, host:port: asked by CONFIG GET and INFO (password: REDISCLI_AUTH)")
	f.StringArrayVar(&v.set, "set", nil,
		"a line of redis.conf that outranks the file, as in --set 'appendfsync always'; again for more")
	f.DurationSliceVar(&v.ttls, "ttl", []time.Duration{30 * time.Second},
		"TTLs of the clients' locks, 20ms to 10m; more with commas")
	f.StringVar(&v.service, "service", "",
		"which of the services or containers is meant (default: the first that takes locks)")
	f.DurationVar(&v.delay, "restart-delay", 0,
		"how long the server stays away after every crash (default: as the files say)")
	f.StringSliceVar(&v.crashes, "crash", settings.CrashNames(), "how servers go down")
	f.StringVar(&v.sentinel, "sentinel", "", "sentinel.conf of the Sentinels that watch the servers")
	f.IntVar(&v.replicas, "replicas", 0, "how many replicas each server has (default: as the files say)")
	f.StringSliceVar(&v.takeovers, "takeover", validate.TakeoverNames(),
		"how a replica takes its master's place, where there are any")
	f.IntVar(&v.wait, "wait", 0, "for how many replicas the lock waits, by WAIT on the connection of its SET")
	f.BoolVar(&v.waitAOF, "waitaof", false,
		"the lock, on one server, waits by WAITAOF for its disk and those of --wait replicas (Redis 7.2 or later)")
	f.BoolVar(&v.guard, "restart-guard", false, "the clients refuse a server that was started within the longest TTL")
	f.StringSliceVar(&v.ignore, "ignore", nil, "directives that you know not to matter")
	f.StringVar(&v.on, "on", suite.Virtual, "cluster: "+strings.Join(cluster.Names(), ", "))
	f.IntVar(&v.trials, "trials", 0,
		fmt.Sprintf("trials of each crash and TTL (default: %d, in real time %d)", virtualTrials, realTrials))
	f.Uint64Var(&v.seed, "seed", 1, "seed of the first trial; each further one adds 1")
	f.Float64Var(&v.driftFactor, "drift-factor", redlock.DefaultDrift,
		"the lock's drift factor; clocks are as wrong as it allows")
	f.StringVar(&v.format, "format", "", "print the findings as "+strings.Join(validation.Formats, ", ")+
		" (default: an answer for people; of a directory, text)")
	f.BoolVar(&v.json, "json", false, "print the answer as JSON")
	f.BoolVar(&v.verbose, "verbose", false, "the steps of each runbook, the settings and the chain of facts too")
	f.StringVar(&v.out, "out", "", "folder for the answer and the histories of trials that lost a lock")
	f.IntVar(&v.parallel, "parallel", 0, "trials at a time (default: one a processor; 3 on local, 4 on docker)")
}

// validateAll judges one deployment, or each that directories hold.
func (p *program) validateAll(ctx context.Context, v validateFlags) error {
	if err := v.check(); err != nil {
		return err
	}
	if slices.ContainsFunc(v.files, isFolder) {
		return p.lint(ctx, v)
	}
	answer, err := p.answer(ctx, v)
	if err != nil {
		return err
	}
	return p.reportValidation(answer, v)
}

// answer judges one deployment.
func (p *program) answer(ctx context.Context, v validateFlags) (*validation.Report, error) {
	var running []*deploy.Report
	if v.redis != "" {
		var err error
		if running, err = validate.Ask(ctx, v.redis, os.Getenv("REDISCLI_AUTH")); err != nil {
			return nil, usage("--redis %w", err)
		}
	}
	question, err := v.question(p.in, running)
	if err != nil {
		return nil, err
	}
	if v.out != "" {
		folder, err := takeFolder(v.out, false)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
	}
	ctx, stop := p.interruptible(ctx)
	defer stop()
	started, what, done := time.Now(), "", 0
	display := p.display(func(int) []string {
		return []string{fmt.Sprintf("%s: %d trials, %s", what, done, reports.Duration(time.Since(started).Truncate(redraw)))}
	})
	answer := &validate.Answer{}
	runner := &validate.Runner{Question: question, Suite: p.suite,
		Stage:   func(next string) { display.update(func() { what = next }) },
		Observe: func(suite.Result) { display.update(func() { done++ }) }}
	if err = runner.Judge(ctx, answer); err == nil {
		err = runner.Advise(ctx, answer)
	}
	display.finish()
	if err != nil {
		return nil, failed(err)
	}
	answer.Trials, answer.Elapsed, answer.Failure = done, time.Since(started), runner.Failure
	answer.Interrupted = ctx.Err() != nil
	answer.Settle()
	return validation.New(answer, version(), started), nil
}

// question reads the files.
func (v *validateFlags) question(in io.Reader, running []*deploy.Report) (validate.Question, error) {
	q := validate.Question{TTLs: slices.Clone(v.ttls), On: v.on, Seed: v.seed, Drift: v.driftFactor, Parallel: v.parallel,
		Out: v.out, Guard: v.guard}
	slices.SortFunc(q.TTLs, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	q.TTLs = slices.Compact(q.TTLs)
	for _, c := range settings.Crashes {
		if slices.Contains(v.crashes, string(c)) {
			q.Crashes = append(q.Crashes, c)
		}
	}
	usual := virtualTrials
	if cluster.RealTime(v.on) {
		usual = realTrials
	}
	q.Trials = cmp.Or(v.trials, usual)
	q.Takeovers, q.Wait, q.WaitAOF = validate.AskedTakeovers(v.takeovers), v.wait, v.waitAOF
	o := deploy.Options{Config: v.config, Set: v.set, Service: v.service, Ignore: v.ignore, Stdin: in, Running: running}
	if v.given("restart-delay") {
		o.Delay = &v.delay
	}
	d, err := deploy.Read(v.files, o)
	if err != nil {
		return q, usage("%w", err)
	}
	q.Server = d.Server
	if q.Failover, err = v.failover(d); err != nil {
		return q, usage("%w", err)
	}
	if err := waitsForDisks(q); err != nil {
		return q, err
	}
	if q.Failover != nil && q.Wait > q.Failover.Replicas {
		return q, usage("--wait %d: there are %d replicas to wait for: give --replicas if there are more", q.Wait,
			q.Failover.Replicas)
	}
	return q, nil
}

// waitsForDisks refuses a WAITAOF that would never have what it waits for: nobody would be
// granted the lock, which is not to be called safe.
func waitsForDisks(q validate.Question) error {
	if !q.WaitAOF {
		return nil
	}
	at, set := q.Server.Redis.At("appendonly")
	switch aof := q.Server.Redis.AppendOnly; {
	case !aof && q.Server.Unread:
		return usage("--waitaof: it is not known whether there is an append-only file to wait for: the settings were " +
			"not read")
	case !aof && set:
		return usage("--waitaof: %s says appendonly no, and without an append-only file Redis refuses WAITAOF: say "+
			"appendonly yes there", at)
	case !aof:
		return usage("--waitaof: there is no append-only file to wait for, and Redis refuses WAITAOF: add --set " +
			"'appendonly yes'")
	case q.Failover.NeverOnDisk(q.Wait):
		return usage("--waitaof --wait %d: WAITAOF never counts a replica without an append-only file: %s; say appendonly "+
			"yes there, or leave --waitaof out",
			q.Wait, strings.Join(q.Failover.WithoutAOF, ", and "))
	}
	return nil
}

// failover is what is known of the server's replicas, nil where nothing speaks of any.
func (v *validateFlags) failover(d *deploy.Deployment) (*deploy.Failover, error) {
	found := d.Failover
	if v.sentinel != "" {
		before := found
		if before == nil {
			before = deploy.PromotedAtOnce(0)
		}
		var err error
		if found, err = deploy.ReadSentinel(v.sentinel, before.Replicas); err != nil {
			return nil, err
		}
		found.Never, found.Uncounted, found.WithoutAOF = before.Never, before.Uncounted, before.WithoutAOF
	}
	if found == nil && (v.replicas > 0 || v.wait > 0 || d.Server.Redis.Replicates()) {
		found = deploy.PromotedAtOnce(max(1, v.wait, d.Server.Redis.MinReplicas))
	}
	if found != nil && v.replicas > 0 {
		found.Replicas, found.Never, found.Uncounted = v.replicas, found.Never && v.replicas == found.Replicas, ""
	}
	if found != nil {
		d.Server.JudgesTakeovers()
	}
	return found, nil
}

// check refuses what lies out of bounds or does not exist.
func (v *validateFlags) check() error {
	given := v.given
	nothing := len(v.files)+len(v.set) == 0 && v.config == "" && v.redis == ""
	switch {
	case given("config") && v.config == "":
		return usage("--config is empty: name the redis.conf, as in --config /etc/redis/redis.conf")
	case nothing:
		return usage("validate needs a file: as in lockproof validate /etc/redis/redis.conf redis.service; %s", deploy.Wanted)
	case len(v.ttls) == 0:
		return usage("--ttl is empty: give the TTLs of your locks, as in --ttl 30s,5s")
	case len(v.crashes) == 0:
		return usage("--crash is empty: there are %s", strings.Join(settings.CrashNames(), ", "))
	case slices.Contains([]string{".yaml", ".yml", ".json", ".service"}, filepath.Ext(v.config)):
		return usage("--config %s: that is no redis.conf; give it as an argument: lockproof validate %[1]s", v.config)
	case given("trials") && (v.trials < 1 || v.trials > maxTrials):
		return usage("--trials %d: give a number from 1 to %d", v.trials, maxTrials)
	case v.delay < 0 || v.delay > time.Hour:
		return usage("--restart-delay %s: give a time from 0s to 1h, as in --restart-delay 35s", v.delay)
	case v.driftFactor < 0 || v.driftFactor > 0.5:
		return usage("--drift-factor %g: give a part of the TTL from 0 to 0.5, as in --drift-factor 0.01", v.driftFactor)
	case given("parallel") && (v.parallel < 1 || v.parallel > maxParallel):
		return usage("--parallel %d: give a number from 1 to %d", v.parallel, maxParallel)
	case given("out") && v.out == "":
		return usage("--out is empty: name a folder, as in --out out")
	case v.json && v.format != "":
		return usage("--json prints the answer, and --format %s its findings: give one of them", v.format)
	case v.service != "" && len(v.files) == 0:
		return usage("--service names a service in a file: give the file")
	case v.replicas < 0 || v.replicas > deploy.MostReplicas:
		return usage("--replicas %d: give a number from 1 to %d", v.replicas, deploy.MostReplicas)
	case v.wait < 0 || v.wait > deploy.MostReplicas:
		return usage("--wait %d: give a number from 0 to %d", v.wait, deploy.MostReplicas)
	case given("sentinel") && v.sentinel == "":
		return usage("--sentinel is empty: name the file, as in --sentinel /etc/redis/sentinel.conf")
	case len(v.takeovers) == 0:
		return usage("--takeover is empty: there are %s", strings.Join(validate.TakeoverNames(), ", "))
	}
	return v.checkNames()
}

// checkNames refuses names that do not exist, and TTLs that no lock has.
func (v *validateFlags) checkNames() error {
	err := oneOf("on", v.on, "cluster", cluster.Names())
	if v.given("format") {
		err = cmp.Or(err, oneOf("format", v.format, "format", validation.Formats))
	}
	for _, t := range v.takeovers {
		err = cmp.Or(err, oneOf("takeover", t, "takeover", validate.TakeoverNames()))
	}
	for _, c := range v.crashes {
		err = cmp.Or(err, oneOf("crash", c, "crash", settings.CrashNames()))
	}
	for _, ttl := range v.ttls {
		if ttl < minTTL || ttl > maxTTL {
			err = cmp.Or(err, usage("--ttl %s: a TTL lies between 20ms and 10m, as in --ttl 30s", ttl))
		}
	}
	return err
}

// reportValidation writes the answer's files, if it is told to, and then prints it.
func (p *program) reportValidation(v *validation.Report, flags validateFlags) error {
	var paths []string
	var err error
	if flags.out != "" {
		paths, err = v.WriteFiles(flags.out)
	}
	p.printResult(func(w io.Writer) error {
		switch {
		case flags.json:
			return v.WriteJSON(w)
		case flags.format != "":
			return validation.WriteFindings(w, flags.format, v.Findings())
		}
		_, err := io.WriteString(w, v.Text(p.screen, flags.verbose))
		if flags.out != "" {
			err = errors.Join(err, listWritten(w, flags.out, paths))
		}
		return err
	})
	return exitError(v.ExitCode, err)
}
