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

// Restart is what a supervisor does when a node's server has died.
type Restart string

// The settings: nobody starts it again but the script, or a supervisor does so
// at once, whatever the server died of.
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

// maxReplicas and maxLag bound what a master may ask of its replicas; the lag is in
// seconds.
const (
	maxReplicas = 9
	maxLag      = 3600
)

// redisFrom reads the servers' settings; those that it does not set stay as in before.
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

// digits reads a whole number as redis.conf has it.
func digits(least, most int) value[string] {
	return func(d *decoder, n ast.Node, what string) string {
		return strconv.Itoa(integer(least, most)(d, n, what))
	}
}

// checkScripts finds what the servers, as they are set up, make impossible, in the script of the scenario and in
// those of its variants.
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
			report(": the nodes' memory has no limit, and is never full", "give it one, for example `redis: {maxmemory: 4mb}`")
		case supervised && s.HasClass(history.NodeDown) && !s.Fault().Machine && !s.After.IsZero():
			report(" with `after`: with `restart: always` the node is back at once", "remove `after`, or `restart`")
		case supervised && s.HasClass(history.NodeUp) && !slices.ContainsFunc(steps, stopsMachine):
			report(": with `restart: always` the node is back already", "remove the step, or `restart`")
		case moves && !slots:
			report(": these servers are no Redis Cluster, and have no slots", "make them one: `redis-cluster: {clients: 1}`")
		case moves && slices.Contains(s.Targets, s.To):
			report(fmt.Sprintf(": the slot of %s is to go to %[1]s itself", s.To), "give it to another node")
		case slots && s.HasClass(history.Failover): // REPLICAOF is not for it
			report(": a Redis Cluster promotes replicas by itself",
				"wait for it: `await-promotion: "+strings.Join(s.Targets, " ")+"`")
		}
	}
}

// stopsMachine reports whether a step takes a node's machine with it.
func stopsMachine(s Step) bool {
	fault := s.Fault()
	return fault != nil && fault.Machine
}
