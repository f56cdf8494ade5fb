package scenarios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Restart is the restart policy of a node's supervisor.
type Restart string

// RestartNever leaves restarts to the script; with RestartAlways the supervisor restarts a dead server at once.
const (
	RestartNever  Restart = "never"
	RestartAlways Restart = "always"
)

// The lines of redis.conf that a scenario may set.
const (
	settingMemory  = "maxmemory"
	settingPolicy  = "maxmemory-policy"
	settingRewrite = "no-appendfsync-on-rewrite"
)

// maxReplicas and maxLag bound min-replicas-to-write and min-replicas-max-lag, in seconds.
const (
	maxReplicas = 9
	maxLag      = 3600
)

// redisFrom reads the servers' settings; unset ones keep their value in before.
func redisFrom(before map[string]string) value[map[string]string] {
	return func(d *decoder, n ast.Node, what string) map[string]string {
		settings := maps.Clone(before)
		if settings == nil {
			settings = map[string]string{}
		}
		setting := func(name string, read value[string]) field {
			return field{name, "", func(d *decoder, n ast.Node, what string) { settings[name] = read(d, n, what) }}
		}
		places := d.fields(n, what, []field{
			setting(settingMemory, (*decoder).memory),
			setting(settingPolicy, oneOf("policies", "noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random",
				"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl")),
			setting(settingRewrite, oneOf("values", "yes", "no")),
			setting(cluster.MinReplicas, digits(0, maxReplicas)),
			setting(cluster.MinLag, digits(0, maxLag)),
		})
		if at := places[settingPolicy]; at != nil && settings[settingMemory] == "" {
			d.report(at, "a maxmemory-policy without a maxmemory: memory without a limit is never full",
				"add the limit, for example `maxmemory: 4mb`")
		}
		return settings
	}
}

var amountOfMemory = regexp.MustCompile(`^[1-9][0-9]{0,8}(kb|mb|gb)$`)

func (d *decoder) memory(n ast.Node, what string) string {
	amount := d.text(n, what)
	if amount != "" && !amountOfMemory.MatchString(amount) {
		d.report(position(n), fmt.Sprintf("%s: %q is not an amount of memory", what, amount),
			"write it like `maxmemory: 4mb`")
	}
	return amount
}

// digits reads a whole number for redis.conf.
func digits(least, most int) value[string] {
	return func(d *decoder, n ast.Node, what string) string {
		return strconv.Itoa(integer(least, most)(d, n, what))
	}
}

// checkScripts reports steps, of the scenario and its variants, that the servers' settings make impossible.
func (d *decoder) checkScripts() {
	d.checkSteps(d.s.Script, d.s.Redis)
	for _, v := range d.s.Variants {
		settings := v.Redis
		if settings == nil {
			settings = d.s.Redis
		}
		d.checkSteps(v.Script, settings)
	}
}

func (d *decoder) checkSteps(steps []Step, settings map[string]string) {
	supervised, slots := d.s.Restart == RestartAlways, d.s.RedisCluster != nil
	for _, s := range steps {
		report := func(what, want string) {
			d.report(&token.Position{Line: s.Line, Column: s.Column}, string(s.Verb)+what, want)
		}
		moves := s.HasClass(history.SlotMoves)
		switch {
		case s.HasClass(history.NodeMemory) && settings[settingMemory] == "":
			report(": without a limit the nodes' memory is never full", "add one, for example `redis: {maxmemory: 4mb}`")
		case supervised && s.HasClass(history.NodeDown) && !s.Fault().Machine && !s.After.IsZero():
			report(" with `after`: `restart: always` restarts the node at once", "remove `after`, or `restart`")
		case supervised && s.HasClass(history.NodeUp) && !slices.ContainsFunc(steps, stopsMachine):
			report(": `restart: always` has restarted the node already", "remove the step, or `restart`")
		case moves && !slots:
			report(": the nodes have no slots: they are not a Redis Cluster", "add `redis-cluster: {clients: 1}`")
		case moves && slices.Contains(s.Targets, s.To):
			report(fmt.Sprintf(": the slot of %s is on %[1]s already", s.To), "name another node in `to`")
		case slots && s.HasClass(history.Failover): // a Redis Cluster does not support REPLICAOF
			report(": a Redis Cluster promotes replicas by itself",
				"wait for it: `await-promotion: "+strings.Join(s.Targets, " ")+"`")
		}
	}
}

// stopsMachine reports whether a step stops a node's machine.
func stopsMachine(s Step) bool {
	fault := s.Fault()
	return fault != nil && fault.Machine
}
