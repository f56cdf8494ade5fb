package scenarios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

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

// What their values may be.
var (
	restarts = []string{string(RestartNever), string(RestartAlways)}
	policies = []string{"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random",
		"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"}
	memory   = regexp.MustCompile(`^[1-9][0-9]{0,8}(kb|mb|gb)$`)
	switches = []string{"yes", "no"}
)

// redis reads the servers' settings; those that it does not set stay as they
// were.
func (d *decoder) redis(n ast.Node, before map[string]string) map[string]string {
	set := maps.Clone(before)
	if set == nil {
		set = map[string]string{}
	}
	oneOf := func(name string, values []string, kind string) field {
		return field{name, "", func(n ast.Node) { set[name] = d.keyword(n, name, values, kind) }}
	}
	count := func(name string, least, most int) field {
		return field{name, "", func(n ast.Node) { set[name] = strconv.Itoa(d.integer(n, name, least, most)) }}
	}
	places := d.fields(n, "redis", []field{
		{settingMemory, "", func(n ast.Node) {
			set[settingMemory] = d.text(n, settingMemory)
			if value := set[settingMemory]; value != "" && !memory.MatchString(value) {
				d.report(position(n), fmt.Sprintf("%s: %q is not an amount of memory", settingMemory, value),
					"write it like `maxmemory: 4mb`")
			}
		}},
		oneOf(settingPolicy, policies, "policies"),
		oneOf(settingRewrite, switches, "values"),
		count(cluster.MinReplicas, 0, maxReplicas),
		count(cluster.MinLag, 0, maxLag),
	})
	if at := places[settingPolicy]; at != nil && set[settingMemory] == "" {
		d.report(at, "a maxmemory-policy without a maxmemory: memory without a limit is never full",
			"add the limit, for example `maxmemory: 4mb`")
	}
	return set
}

// checkServers finds what the servers, as they are set up, make impossible, in
// the script of the scenario and in those of its variants.
func (d *decoder) checkServers() {
	d.checkSteps(d.s.Script, d.s.Redis)
	for _, v := range d.s.Variants {
		settings := d.s.Redis
		if v.Redis != nil {
			settings = v.Redis
		}
		d.checkSteps(v.Script, settings)
	}
}

func (d *decoder) checkSteps(steps []Step, settings map[string]string) {
	supervised := d.s.Restart == RestartAlways
	for _, s := range steps {
		at := &token.Position{Line: s.Line, Column: s.Column}
		down := s.HasClass(history.NodeDown)
		switch {
		case s.HasClass(history.NodeMemory) && settings[settingMemory] == "":
			d.report(at, string(s.Verb)+": the nodes' memory has no limit, and is never full",
				"give it one, for example `redis: {maxmemory: 4mb}`")
		case supervised && down && !s.Fault().Machine && !s.After.IsZero():
			d.report(at, fmt.Sprintf("%s with `after`: with `restart: always` the node is back at once", s.Verb),
				"remove `after`, or `restart`")
		case supervised && s.HasClass(history.NodeUp) && !slices.ContainsFunc(steps, stopsMachine):
			d.report(at, string(s.Verb)+": with `restart: always` the node is back already", "remove the step, or `restart`")
		}
	}
}

// stopsMachine reports whether a step takes a node's machine with it.
func stopsMachine(s Step) bool {
	fault := s.Fault()
	return fault != nil && fault.Machine
}
