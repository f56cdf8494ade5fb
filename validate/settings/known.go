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
	w, weighs := weighty[d.Name]
	switch {
	case d.Name == "rename-command":
		if len(d.Args) > 0 && slices.Contains(lockCommands, strings.ToUpper(d.Args[0])) {
			s.Remarks = append(s.Remarks, Remark{Place: d.Place,
				What: fmt.Sprintf("rename-command renames %s, which locks need", strings.ToUpper(d.Args[0]))})
		}
	case weighs:
		if d.Name != "loadmodule" {
			s.Remarks = slices.DeleteFunc(s.Remarks, func(r Remark) bool { return strings.HasPrefix(r.What, d.Name+" ") })
		}
		if w.counts(d) {
			s.Remarks = append(s.Remarks, Remark{Place: d.Place, What: d.Name + " " + w.why, Others: w.others})
		}
	case !harmless(d.Name) || d.unrendered():
		s.Unknown = append(s.Unknown, d)
	}
}

// placeholder is one of a template. A shell's, as ${PORT}, may be an option's value.
var placeholder = regexp.MustCompile(`\{\{|<%`)

// unrendered reports whether a line is a template's. A secret of one word may have any signs.
func (d Directive) unrendered() bool {
	return placeholder.MatchString(strings.Join(d.Args, " ")) && !(d.Secret() && len(d.Args) == 1)
}

// lockCommands are the commands that locks on Redis use.
var lockCommands = strings.Fields(`SET SETNX GET GETSET GETDEL DEL UNLINK EVAL EVALSHA EVAL_RO EVALSHA_RO SCRIPT FCALL
	FUNCTION EXPIRE PEXPIRE EXPIREAT PEXPIREAT GETEX PTTL TTL EXISTS INCR HSET HGET HDEL HEXISTS HINCRBY HSETNX MULTI EXEC
	WATCH WAIT
	WAITAOF INFO HELLO AUTH SELECT PUBLISH SUBSCRIBE`)

// weight is what a directive does to a lock, which is known but not measured here.
type weight struct {
	why    string
	except []string // values that do nothing
	others bool     // as in a Remark
}

func (w weight) counts(d Directive) bool {
	return !slices.Contains(w.except, strings.ToLower(strings.Join(d.Args, " ")))
}

var weighty = map[string]weight{
	"replicaof": {why: "makes this server a replica, which takes no locks: judge the master's file, " +
		"and see failover-lock for what a failover does", except: []string{"no one", ""}},
	"cluster-enabled": {why: "yes: the masters of a Redis Cluster are no independent nodes, and after a crash a replica " +
		"that may lack the lock takes over: see redis-cluster-failover and redis-cluster-one-slot",
		except: []string{"no"}, others: true},
	"aof-load-corrupt-tail-max-size": {why: "cuts a damaged end of the append-only file off, with the locks in it",
		except: []string{"0"}},
	"loadmodule": {why: "loads a module, which can do anything to keys"},
	"sentinel": {why: "makes this a Sentinel's file, which is no lock server's: judge its masters' redis.conf, " +
		"and see failover-lock for what a failover does"},
	"ignore-warnings": {why: "lets Redis run on a kernel whose children may corrupt what they save", except: []string{""}},
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
