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

// validateFlags are the flags of validate: most of them belong to the question, or to the options of reading files.
type validateFlags struct {
	validate.Question
	deploy.Options
	files              []string // arguments
	redis              string
	crashes, takeovers []string
	replicas           int
	delay              time.Duration
	format             string
	json, verbose      bool
	given              func(flag string) bool
}

// The default trials of each crash and TTL.
const (
	virtualTrials = 30
	realTrials    = 3
)

func (p *program) validateCommand() *cobra.Command {
	v := validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate [FILE ...] --ttl 30s [flags]",
		Short: "Judge whether your servers remember the lock after a crash",
		Long: `Reads what runs a lock's server, and says for a kill, a shutdown and a power loss
whether a second client can get the lock. A server is safe only if everything that
matters is known: what is not understood is in doubt, with file and line.

FILE is a redis.conf, a systemd unit, a compose file, Kubernetes objects
(kubectl get -o yaml, helm template), docker inspect, or redis-cli CONFIG GET '*' and
INFO; "-" is standard input. Several files are read as parts of one deployment. In a
directory, every deployment is judged, with one line for each finding.

Exit codes: 0 safe; 1 unsafe; 4 in doubt, or cut short; 3 the harness itself failed;
64 bad usage or a bad file. Nothing is written unless --out is given.`,
		Example: `  lockproof validate redis.conf redis.service --ttl 30s
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

func (v *validateFlags) define(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&v.Config, "config", "", "redis.conf that the server is started with; its includes are read too")
	f.StringVar(&v.redis, "redis", "",
		"a running server, host:port, read by CONFIG GET and INFO (password: REDISCLI_AUTH)")
	f.StringArrayVar(&v.Set, "set", nil,
		"a line of redis.conf that outranks the file, as in --set 'appendfsync always'; again for more")
	f.DurationSliceVar(&v.TTLs, "ttl", []time.Duration{30 * time.Second},
		"TTLs of the clients' locks, 20ms to 10m; more with commas")
	f.StringVar(&v.Service, "service", "",
		"the service or container to judge (default: the first master)")
	f.DurationVar(&v.delay, "restart-delay", 0,
		"the server's downtime after every crash (default: by the files)")
	f.StringSliceVar(&v.crashes, "crash", settings.Names(settings.Crashes), "the kinds of crash to judge")
	f.StringVar(&v.Sentinel, "sentinel", "", "sentinel.conf of the Sentinels that watch the servers")
	f.IntVar(&v.replicas, "replicas", 0, "number of replicas of each server (default: by the files)")
	f.StringSliceVar(&v.takeovers, "takeover", settings.Names(validate.Takeovers),
		"the takeovers by a replica to judge, if there are replicas")
	f.IntVar(&v.Wait, "wait", 0, "number of replicas that the lock waits for, by WAIT on the connection of its SET")
	f.BoolVar(&v.WaitAOF, "waitaof", false,
		"the lock, on one server, waits by WAITAOF for its disk and those of --wait replicas (Redis 7.2, or 8 and later)")
	f.BoolVar(&v.Guard, "restart-guard", false, "the clients refuse a server that was started within the longest TTL")
	f.StringSliceVar(&v.Ignore, "ignore", nil, "unknown directives that do not matter")
	f.StringVar(&v.On, "on", suite.Virtual, "cluster: "+strings.Join(cluster.Names(), ", "))
	f.IntVar(&v.Trials, "trials", 0,
		fmt.Sprintf("trials of each crash and TTL (default: %d, in real time %d)", virtualTrials, realTrials))
	f.Uint64Var(&v.Seed, "seed", 1, "seed of the first trial; each further one adds 1")
	f.Float64Var(&v.Drift, "drift-factor", redlock.DefaultDrift,
		"the lock's drift factor; clocks err by as much")
	f.StringVar(&v.format, "format", "", "print the findings as "+strings.Join(validation.Formats, ", ")+
		" (default: an answer for people; for a directory, text)")
	f.BoolVar(&v.json, "json", false, "print the answer as JSON")
	f.BoolVar(&v.verbose, "verbose", false, "also print the steps of each runbook, the settings and the chain of facts")
	f.StringVar(&v.Out, "out", "", "folder for the answer and the histories of trials that lost a lock")
	f.IntVar(&v.Parallel, "parallel", 0, "trials at a time (default: one a processor; 3 on local, 4 on docker)")
}

// validateAll judges one deployment, or each one below directories.
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
	if v.Out != "" {
		folder, err := openOutFolder(v.Out, false)
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

func (v *validateFlags) question(in io.Reader, running []*deploy.Report) (validate.Question, error) {
	q := v.Question
	q.TTLs = slices.Clone(v.TTLs)
	slices.SortFunc(q.TTLs, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	q.TTLs = slices.Compact(q.TTLs)
	usual := virtualTrials
	if cluster.RealTime(v.On) {
		usual = realTrials
	}
	q.Trials = cmp.Or(v.Trials, usual)
	q.Crashes = settings.Named(settings.Crashes, v.crashes)
	q.Takeovers = settings.Named(validate.Takeovers, v.takeovers)
	o := v.Options
	o.Stdin, o.Running = in, running
	if v.given("restart-delay") {
		o.Delay = &v.delay
	}
	d, err := deploy.Read(v.files, o)
	if err != nil {
		return q, usage("%w", err)
	}
	q.Server, q.Failover = d.Server, v.failover(d)
	if err := checkWAITAOF(q); err != nil {
		return q, err
	}
	if q.Failover != nil && q.Wait > q.Failover.Replicas {
		return q, usage("--wait %d: there are %d replicas to wait for: give --replicas if there are more", q.Wait,
			q.Failover.Replicas)
	}
	return q, nil
}

// checkWAITAOF refuses a WAITAOF that can never succeed: no client would be granted the lock, and
// a safe verdict would be misleading.
func checkWAITAOF(q validate.Question) error {
	if !q.WaitAOF {
		return nil
	}
	at := q.Server.Redis.At("appendonly")
	switch aof := q.Server.Redis.AppendOnly; {
	case q.Server.Software.LacksWAITAOF():
		return usage("--waitaof: the server is %s, and WAITAOF is of Redis 7.2: leave --waitaof out", q.Server.Software)
	case !aof && q.Server.Unread:
		return usage("--waitaof: it is not known whether there is an append-only file to wait for: the settings were " +
			"not read")
	case !aof && at.File != "":
		return usage("--waitaof: %s says appendonly no, and without an append-only file Redis refuses WAITAOF: say "+
			"appendonly yes there", at)
	case !aof:
		return usage("--waitaof: there is no append-only file to wait for, and Redis refuses WAITAOF: add --set " +
			"'appendonly yes'")
	}
	return nil
}

// failover returns the facts about the server's replicas, nil if no input mentions any.
func (v *validateFlags) failover(d *deploy.Deployment) *deploy.Failover {
	found := d.Failover
	if found == nil && (v.replicas > 0 || v.Wait > 0 || d.Server.Redis.Replicates()) {
		found = deploy.PromotedAtOnce(max(1, v.Wait, d.Server.Redis.MinReplicas))
	}
	if found != nil && v.replicas > 0 {
		found.Replicas, found.Never, found.Uncounted = v.replicas, found.Never && v.replicas == found.Replicas, ""
	}
	if found != nil {
		d.Server.JudgesTakeovers(found)
	}
	return found
}

func (v *validateFlags) check() error {
	given := v.given
	nothing := len(v.files)+len(v.Set) == 0 && v.Config == "" && v.redis == ""
	switch {
	case nothing:
		return usage("validate needs a file: as in lockproof validate /etc/redis/redis.conf redis.service; %s", deploy.Wanted)
	case slices.Contains([]string{".yaml", ".yml", ".json", ".service"}, filepath.Ext(v.Config)):
		return usage("--config %s: that is no redis.conf; give it as an argument: lockproof validate %[1]s", v.Config)
	case given("trials") && (v.Trials < 1 || v.Trials > maxTrials):
		return usage("--trials %d: give a number from 1 to %d", v.Trials, maxTrials)
	case v.delay < 0 || v.delay > time.Hour:
		return usage("--restart-delay %s: give a time from 0s to 1h, as in --restart-delay 35s", v.delay)
	case !(v.Drift >= 0.0001 && v.Drift <= 0.5):
		return usage("--drift-factor %g: give a part of the TTL from 0.0001 to 0.5, as in --drift-factor 0.01", v.Drift)
	case given("parallel") && (v.Parallel < 1 || v.Parallel > maxParallel):
		return usage("--parallel %d: give a number from 1 to %d", v.Parallel, maxParallel)
	case v.json && v.format != "":
		return usage("--json prints the answer, and --format %s its findings: give one of them", v.format)
	case v.Service != "" && len(v.files) == 0:
		return usage("--service names a service in a file: give the file")
	case v.replicas < 0 || v.replicas > deploy.MostReplicas:
		return usage("--replicas %d: give a number from 1 to %d", v.replicas, deploy.MostReplicas)
	case v.Wait < 0 || v.Wait > deploy.MostReplicas:
		return usage("--wait %d: give a number from 0 to %d", v.Wait, deploy.MostReplicas)
	}
	return v.checkNames()
}

func (v *validateFlags) checkNames() error {
	err := oneOf("on", v.On, "cluster", cluster.Names())
	if v.given("format") {
		err = cmp.Or(err, oneOf("format", v.format, "format", validation.Formats))
	}
	for _, t := range v.takeovers {
		err = cmp.Or(err, oneOf("takeover", t, "takeover", settings.Names(validate.Takeovers)))
	}
	for _, c := range v.crashes {
		err = cmp.Or(err, oneOf("crash", c, "crash", settings.Names(settings.Crashes)))
	}
	for _, ttl := range v.TTLs {
		if ttl < minTTL || ttl > maxTTL {
			err = cmp.Or(err, usage("--ttl %s: a TTL lies between 20ms and 10m, as in --ttl 30s", ttl))
		}
	}
	return err
}

// reportValidation writes the answer's files, with --out, and then prints it.
func (p *program) reportValidation(v *validation.Report, flags validateFlags) error {
	var paths []string
	var err error
	if flags.Out != "" {
		paths, err = v.WriteFiles(flags.Out)
	}
	p.printResult(func(w io.Writer) error {
		switch {
		case flags.json:
			return v.WriteJSON(w)
		case flags.format != "":
			return validation.WriteFindings(w, flags.format, v.Findings())
		}
		_, err := io.WriteString(w, v.Text(p.screen, flags.verbose))
		if flags.Out != "" {
			err = errors.Join(err, listWritten(w, flags.Out, paths))
		}
		return err
	})
	return exitError(v.ExitCode, err)
}
