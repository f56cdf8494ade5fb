package scenarios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/suggest"
)

// Readers of keys that variants have too.
var (
	persistence = oneOf("settings", cluster.Persistences...)
	verdict     = oneOf("verdicts that can be expected", history.Holds, history.Violated)
)

// Limits of a scenario.
const (
	minTTL        = 20 * time.Millisecond
	maxTTL        = 10 * time.Minute
	maxNodes      = 9
	maxClients    = 64
	maxKeys       = 1000
	maxTries      = 1000
	maxResends    = 10
	maxPool       = 1000
	maxThreads    = 16
	maxNameLength = 100 // of a scenario or a variant: both name folders
	defaultNodes  = 5
	// DefaultKey is the key of steps without `key`. It is also the first of a workload's keys, k1 to kK, so that script
	// and workload contend.
	DefaultKey = "k1"
)

func (d *decoder) scenario(root *ast.MappingNode) {
	d.s = defaults(d.file)
	s := d.s
	places := d.fields(root, "the scenario", []field{
		{"name", "words in lower case joined by hyphens", set(&s.Name, (*decoder).name)},
		{"title", "one line that says what happens", set(&s.Title, text)},
		{"source", "where the evidence is: a text or a list of texts", set(&s.Source, (*decoder).source)},
		{"lesson", "at most three sentences for a student", set(&s.Lesson, (*decoder).lesson)},
		{"on", "", set(&s.On, someOf("clusters", cluster.Names()...))},
		{"ttl", "", set(&s.TTL, (*decoder).ttl)},
		{"least-ttl", "", set(&s.MinTTL, (*decoder).ttl)},
		{"nodes", "", set(&s.Nodes, nodeNames)},
		{"several", "", set(&s.MultiNodeReason, text)},
		{"aliases", "", set(&s.Aliases, (*decoder).aliases)},
		{"replicas", "", definesNames(set(&s.Replicas, (*decoder).replicas))},
		{"sentinels", "", set(&s.Sentinels, (*decoder).sentinels)},
		{"redis-cluster", "", set(&s.RedisCluster, (*decoder).redisCluster)},
		{"persistence", "", set(&s.Persistence, persistence)},
		{"redis", "", set(&s.Redis, redisFrom(nil))},
		{"restart", "", set(&s.Restart, oneOf("settings", RestartNever, RestartAlways))},
		{"delay", "", set(&s.Delay, zeroOrMore.span)},
		{"lock", "", set(&s.Lock, lockFrom(s.Lock))},
		{"store", "", set(&s.Store, (*decoder).store)},
		{"workload", "", definesNames(set(&s.Workload, (*decoder).workload))},
		{"clients", "", definesNames(set(&s.Clients, (*decoder).clients))},
		{"script", "", set(&s.Script, (*decoder).script)},
		{"nemesis", "", set(&s.Nemesis, (*decoder).randomFaults)},
		{"bounds", "", set(&s.Bounds, boundsFrom(s.Bounds))},
		{"earned", "", set(&s.Earned, earnedFrom(s.Earned))},
		{"expect", "the verdict on at least one property, for example `mutual-exclusion: holds`",
			set(&s.Expect, (*decoder).expect)},
		{"variants", "", set(&s.Variants, (*decoder).variants)},
	})
	if at := places["nemesis"]; at != nil && places["workload"] == nil {
		d.report(at, "a nemesis without a workload: the schedule lasts as long as the workload does",
			"add `workload:`, or put the faults into the script")
	}
	d.checkScripts()
	d.checkRedisCluster(places["redis-cluster"])
	if s.TTL < s.MinTTL {
		d.report(places["least-ttl"], fmt.Sprintf("the ttl is %v, less than the least-ttl of %v", s.TTL, s.MinTTL),
			"give a longer `ttl:`")
	}
	if places["script"] == nil && places["workload"] == nil {
		d.report(position(root), "the scenario has neither a script nor a workload",
			"add `script:` with steps, or `workload:` with clients in loops")
	}
}

func defaults(file string) *Scenario {
	return &Scenario{
		File:        file,
		On:          cluster.Names(),
		TTL:         time.Second,
		Nodes:       numbered("n", defaultNodes),
		Persistence: cluster.PersistNone,
		Restart:     RestartNever,
		Lock:        Lock{Name: locks.Reference},
		Store:       CheckNone,
	}
}

func nodeNames(d *decoder, n ast.Node, what string) []string {
	return numbered("n", integer(1, maxNodes)(d, n, what))
}

// numbered returns names such as n1 to n5.
func numbered(prefix string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return names
}

var scenarioName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (d *decoder) name(n ast.Node, what string) string {
	name := d.text(n, what)
	if name != "" && !scenarioName.MatchString(name) {
		d.report(position(n), fmt.Sprintf("invalid scenario name %q", name),
			"want words in lower case joined by hyphens, for example client-pause")
	}
	if len(name) > maxNameLength {
		d.report(position(n), fmt.Sprintf("the name has %d bytes", len(name)), fmt.Sprintf("want at most %d", maxNameLength))
	}
	return name
}

func (d *decoder) source(n ast.Node, what string) (source []string) {
	for _, element := range d.list(n, what) {
		source = append(source, d.text(element, what))
	}
	return source
}

// sentenceEnd is a mark at the end of the text or before a capital, so that "e.g. this" and "1.2 ttl" do not count.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]*(\s+["'(]?[A-Z]|$)`)

func (d *decoder) lesson(n ast.Node, what string) string {
	lesson := d.text(n, what)
	if count := len(sentenceEnd.FindAllString(lesson, -1)); count > 3 {
		d.report(position(n), fmt.Sprintf("the lesson has %d sentences", count), "want three or fewer")
	}
	return lesson
}

// ttl reads a TTL in units of time. An invalid one leaves the scenario's.
func (d *decoder) ttl(n ast.Node, what string) time.Duration {
	before := len(d.problems)
	span := positive.span(d, n, what)
	if len(d.problems) > before {
		return d.s.TTL
	}
	if span.TTLs != 0 || span.Fixed < minTTL || span.Fixed > maxTTL {
		d.report(position(n), fmt.Sprintf("%s: %q is not a TTL", what, span),
			fmt.Sprintf("want from %v to 10m, in units of time: `%s: 1s`", minTTL, what))
		return d.s.TTL
	}
	return span.Fixed
}

func (d *decoder) aliases(n ast.Node, what string) map[string]string {
	aliases := map[string]string{}
	entries := d.entries(n, what, "a mapping of node to node, for example {n2: n1}")
	for _, e := range entries {
		if !slices.Contains(d.s.Nodes, e.key) {
			d.report(e.at, fmt.Sprintf("aliases: unknown node %q", e.key), suggest.Instead(e.key, d.s.Nodes, "the nodes are"))
			continue
		}
		server := oneOf("nodes", d.s.Nodes...)(d, e.value, "the alias "+e.key)
		if server == e.key {
			d.report(position(e.value), fmt.Sprintf("%s is its own alias", e.key), "name the node whose server it stands for")
		}
		aliases[e.key] = server
	}
	for _, e := range entries {
		if server := aliases[e.key]; aliases[server] != "" && server != e.key {
			d.report(position(e.value), fmt.Sprintf("%s stands for %s, which is an alias", e.key, server),
				"name a node that has a server of its own")
		}
	}
	return aliases
}

func (d *decoder) store(n ast.Node, what string) (check StoreCheck) {
	d.fields(n, what, []field{
		{"check", "what the store checks before it accepts a write",
			set(&check, oneOf("checks", CheckNone, CheckFence, CheckFenceWrites, CheckCompare))},
	})
	return check
}

func (d *decoder) expect(n ast.Node, what string) map[string]string {
	expect := map[string]string{}
	for _, e := range d.entries(n, what, "a mapping of properties to verdicts, for example `mutual-exclusion: holds`") {
		if !slices.Contains(checker.Names(), e.key) {
			d.report(e.at, fmt.Sprintf("unknown property %q", e.key),
				suggest.Instead(e.key, checker.Names(), "the properties are"))
			continue
		}
		expect[e.key] = verdict(d, e.value, e.key)
	}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) == 0 {
		d.report(position(n), "expect is empty",
			"give the verdict on at least one property, for example `mutual-exclusion: holds`")
	}
	return expect
}

// boundsFrom reads bounds; unset ones keep their value in before.
func boundsFrom(before Bounds) value[Bounds] {
	return func(d *decoder, n ast.Node, what string) Bounds {
		bounds := Bounds{}
		maps.Copy(bounds, before)
		var fields []field
		for _, name := range history.BoundNames {
			fields = append(fields, field{name, "", func(d *decoder, n ast.Node, what string) {
				bounds[name] = positive.span(d, n, what)
			}})
		}
		d.fields(n, what, fields)
		return bounds
	}
}

// earnedFrom reads the required counts; unset ones keep their value in e.
func earnedFrom(e Earned) value[Earned] {
	count := present(integer(0, 1_000_000))
	return func(d *decoder, n ast.Node, what string) Earned {
		d.fields(n, what, []field{
			{"grants", "", set(&e.Grants, count)},
			{"contended", "", set(&e.Contended, count)},
			{"faults", "", set(&e.Faults, count)},
			{"writes", "", set(&e.Writes, count)},
			{"refused", "", set(&e.Refused, count)},
		})
		return e
	}
}
