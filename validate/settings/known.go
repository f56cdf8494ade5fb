package settings

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// others takes a directive that is not about persistence or memory: it is harmless, needs a remark, or is unknown. The
// last line of a name counts, except for directives that add up.
func (s *Redis) others(d Directive) {
	weigh, weighs := weighty[d.Name]
	switch {
	case !weighs && (!harmless(d.Name) || d.unrendered()):
		s.Unknown = append(s.Unknown, d)
	case weighs:
		if d.Name != "rename-command" && d.Name != "loadmodule" {
			s.Remarks = slices.DeleteFunc(s.Remarks, func(r Remark) bool { return strings.HasPrefix(r.What, d.Name+" ") })
		}
		if remark := weigh(d); remark != nil {
			remark.Place = d.Place
			s.Remarks = append(s.Remarks, *remark)
		}
	}
}

// placeholder is one of a template. A shell's, as ${PORT}, may be an option's value.
var placeholder = regexp.MustCompile(`\{\{|<%`)

// unrendered reports whether a line is a template's. A secret of one word may have any signs.
func (d Directive) unrendered() bool {
	return placeholder.MatchString(strings.Join(d.Args, " ")) && !(d.Secret() && len(d.Args) == 1)
}

// renamed returns a remark if a lock needs the command that is renamed.
func renamed(d Directive) *Remark {
	command := strings.ToUpper(strings.Join(d.Args[:min(1, len(d.Args))], ""))
	if slices.Contains(lockCommands, command) {
		return &Remark{What: fmt.Sprintf("rename-command renames %s, which locks need", command)}
	}
	return nil
}

// lockCommands are the commands that locks on Redis use.
var lockCommands = strings.Fields(`SET SETNX GET GETSET GETDEL DEL UNLINK EVAL EVALSHA EVAL_RO EVALSHA_RO SCRIPT FCALL
	FUNCTION EXPIRE PEXPIRE EXPIREAT PEXPIREAT GETEX PTTL TTL EXISTS INCR HSET HGET HDEL HEXISTS HINCRBY HSETNX MULTI EXEC
	WATCH WAIT
	WAITAOF INFO HELLO AUTH SELECT PUBLISH SUBSCRIBE`)

// remarkIf makes a rule that returns a remark, for every crash, if test matches
// the arguments. The remark must begin with the directive's name.
func remarkIf(why string, test func(args []string) bool) func(Directive) *Remark {
	return func(d Directive) *Remark {
		if !test(d.Args) {
			return nil
		}
		return &Remark{What: fmt.Sprintf("%s %s", d.Name, why)}
	}
}

func always([]string) bool { return true }

// not matches every value but these.
func not(values ...string) func([]string) bool {
	return func(args []string) bool { return !slices.Contains(values, strings.ToLower(strings.Join(args, " "))) }
}

// weighty are directives whose effect on a lock is known but not measured here.
var weighty = map[string]func(Directive) *Remark{
	"replicaof": remarkIf("makes this server a replica, which takes no locks: judge the master's file, "+
		"and see failover-lock for what a failover does", not("no one", "")),
	"cluster-enabled": func(d Directive) *Remark {
		r := remarkIf("yes: the masters of a Redis Cluster are no independent nodes, and after a crash a replica that "+
			"may lack the lock takes over: see redis-cluster-failover and redis-cluster-one-slot", not("no"))(d)
		if r != nil {
			r.Others = true
		}
		return r
	},
	"aof-load-corrupt-tail-max-size": remarkIf("cuts a damaged end of the append-only file off, with the locks in it",
		not("0")),
	"loadmodule":     remarkIf("loads a module, which can do anything to keys", always),
	"rename-command": renamed,
	"sentinel": remarkIf("makes this a Sentinel's file, which is no lock server's: judge its masters' redis.conf, "+
		"and see failover-lock for what a failover does", always),
	"ignore-warnings": remarkIf("lets Redis run on a kernel whose children may corrupt what they save", not("")),
}

//go:embed harmless.txt
var harmlessText string

// harmlessNames are the directives of Redis up to 8.8 and Valkey up to 9.0 that do not affect whether a node remembers
// a lock (CONFIG GET * of 7.0.15, and the additions of later versions' redis.conf).
var harmlessNames = strings.Fields(harmlessText)

// ofModule matches the settings of the modules in Redis 8's own packages (redis-full.conf).
var ofModule = regexp.MustCompile(`^(?:search|bf|cf|ts)-`)

func harmless(name string) bool {
	return slices.Contains(harmlessNames, name) || ofModule.MatchString(name)
}

// current is a directive's present name: Redis 5 renamed each with slave, and Valkey has others for two.
func current(name string) string {
	switch name {
	case "primaryauth", "primaryuser":
		return strings.Replace(name, "primary", "master", 1)
	}
	return strings.Replace(name, "slave", "replica", 1)
}
