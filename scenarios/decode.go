package scenarios

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// What the values of some keys may be.
var (
	persistences = []string{string(cluster.PersistNone), string(cluster.PersistRDB), string(cluster.PersistNo),
		string(cluster.PersistEverysec), string(cluster.PersistAlways)}
	storeChecks = []string{string(CheckNone), string(CheckFence), string(CheckFenceWrites), string(CheckCompare)}
	verdicts    = []string{history.Holds, history.Violated}
)

// Bounds on what a scenario may ask for.
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
	maxNameLength = 100 // of a scenario or a variant: folders are named after both
	defaultNodes  = 5
	// DefaultKey is the key of steps that name none; a workload's keys are k1
	// to kK, so that both meet at it.
	DefaultKey = "k1"
)

// scenario reads the whole file.
func (d *decoder) scenario(root *ast.MappingNode) {
	d.s = defaults(d.file)
	s := d.s
	places := d.fields(root, "the scenario", []field{
		{"name", "words in lower case joined by hyphens", d.readName},
		{"title", "one line that says what happens", func(n ast.Node) { s.Title = d.text(n, "title") }},
		{"source", "where the evidence is: a text or a list of texts", d.readSource},
		{"lesson", "at most three sentences for a student", d.readLesson},
		{"on", "", func(n ast.Node) { s.On = d.keywords(n, "on", cluster.Names(), "clusters") }},
		{"ttl", "", func(n ast.Node) { d.readTTL(n, "ttl", &s.TTL) }},
		{"least-ttl", "", func(n ast.Node) { d.readTTL(n, "least-ttl", &s.MinTTL) }},
		{"nodes", "", func(n ast.Node) { s.Nodes = numbered("n", d.integer(n, "nodes", 1, maxNodes)) }},
		{"several", "", func(n ast.Node) { s.MultiNodeReason = d.text(n, "several") }},
		{"aliases", "", d.readAliases},
		{"replicas", "", d.readReplicas},
		{"sentinels", "", d.readSentinels},
		{"redis-cluster", "", d.readRedisCluster},
		{"persistence", "", d.readPersistence(&s.Persistence)},
		{"redis", "", func(n ast.Node) { s.Redis = d.redis(n, nil) }},
		{"restart", "", func(n ast.Node) { s.Restart = Restart(d.keyword(n, "restart", restarts, "settings")) }},
		{"delay", "", func(n ast.Node) { s.Delay = d.span(n, "delay", zeroOrMore) }},
		{"lock", "", func(n ast.Node) { s.Lock = d.lock(n, s.Lock) }},
		{"store", "", func(n ast.Node) { s.Store = d.store(n) }},
		{"workload", "", d.readWorkload},
		{"clients", "", d.readClients},
		{"script", "", func(n ast.Node) { s.Script = d.script(n) }},
		{"nemesis", "", d.readNemesis},
		{"bounds", "", func(n ast.Node) { s.Bounds = d.bounds(n, s.Bounds) }},
		{"earned", "", func(n ast.Node) { s.Earned = d.earned(n, s.Earned) }},
		{"expect", "the verdict on at least one property, for example `mutual-exclusion: holds`", d.readExpect},
		{"variants", "", d.readVariants},
	})
	if at := places["nemesis"]; at != nil && places["workload"] == nil {
		d.report(at, "a nemesis without a workload: the schedule lasts as long as the workload does",
			"add `workload:`, or put the faults into the script")
	}
	d.checkServers()
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

// defaults is a scenario in which nothing is set.
func defaults(file string) *Scenario {
	return &Scenario{
		File:        file,
		On:          cluster.Names(),
		TTL:         time.Second,
		Nodes:       numbered("n", defaultNodes),
		Persistence: cluster.PersistNone,
		Restart:     RestartNever,
		Lock:        Lock{Name: locks.Reference},
		Store:       Store{Check: CheckNone},
	}
}

// numbered makes names such as n1 to n5.
func numbered(prefix string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return names
}

var scenarioName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (d *decoder) readName(n ast.Node) {
	name := d.text(n, "name")
	d.s.Name, d.name = name, position(n)
	if name != "" && !scenarioName.MatchString(name) {
		d.report(position(n), fmt.Sprintf("invalid scenario name %q", name),
			"want words in lower case joined by hyphens, for example client-pause")
	}
	if len(name) > maxNameLength {
		d.report(position(n), fmt.Sprintf("the name has %d bytes", len(name)), fmt.Sprintf("want at most %d", maxNameLength))
	}
}

// checkFileName holds a scenario of the catalogue to the name of its file.
func (d *decoder) checkFileName() {
	base := strings.TrimSuffix(path.Base(d.file), ".yaml")
	if d.s != nil && d.s.Name != "" && d.s.Name != base {
		d.report(d.name, fmt.Sprintf("the name is %q in a file named %s.yaml", d.s.Name, base),
			"in the catalogue both are the same")
	}
}

func (d *decoder) readSource(n ast.Node) {
	for _, element := range d.list(n, "source") {
		d.s.Source = append(d.s.Source, d.text(element, "source"))
	}
}

// sentenceEnd is a mark at the end of the text or before a new beginning, so
// that "e.g. this" and "1.2 ttl" do not count.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]*(\s+["'(]?[A-Z]|$)`)

func (d *decoder) readLesson(n ast.Node) {
	d.s.Lesson = d.text(n, "lesson")
	if count := len(sentenceEnd.FindAllString(d.s.Lesson, -1)); count > 3 {
		d.report(position(n), fmt.Sprintf("the lesson has %d sentences", count), "want three or fewer")
	}
}

// readTTL reads a TTL, the run's or the least, in units of time.
func (d *decoder) readTTL(n ast.Node, what string, ttl *time.Duration) {
	before := len(d.problems)
	span := d.span(n, what, positive)
	if len(d.problems) > before {
		return
	}
	if span.TTLs != 0 || span.Fixed < minTTL || span.Fixed > maxTTL {
		d.report(position(n), fmt.Sprintf("%s: %q is not a TTL", what, span),
			fmt.Sprintf("want from %v to 10m, in units of time: `%s: 1s`", minTTL, what))
		return
	}
	*ttl = span.Fixed
}

func (d *decoder) readAliases(n ast.Node) {
	d.s.Aliases = map[string]string{}
	for _, e := range d.entries(n, "aliases", "a mapping of node to node, for example {n2: n1}") {
		if !slices.Contains(d.s.Nodes, e.key) {
			d.report(e.at, fmt.Sprintf("aliases: unknown node %q", e.key), suggest(e.key, d.s.Nodes, "the nodes are"))
			continue
		}
		server := d.keyword(e.value, "the alias "+e.key, d.s.Nodes, "nodes")
		if server == e.key {
			d.report(position(e.value), fmt.Sprintf("%s is its own alias", e.key), "name the node whose server it stands for")
		}
		d.s.Aliases[e.key] = server
	}
	for _, e := range d.entries(n, "aliases", "") {
		if server := d.s.Aliases[e.key]; d.s.Aliases[server] != "" && server != e.key {
			d.report(position(e.value), fmt.Sprintf("%s stands for %s, which is an alias", e.key, server),
				"name a node that has a server of its own")
		}
	}
}

func (d *decoder) readPersistence(into *cluster.Persistence) func(ast.Node) {
	return func(n ast.Node) {
		*into = cluster.Persistence(d.keyword(n, "persistence", persistences, "settings"))
	}
}

func (d *decoder) store(n ast.Node) Store {
	s := Store{Check: CheckNone}
	d.fields(n, "store", []field{
		{"check", "what the store checks before it accepts a write", func(n ast.Node) {
			s.Check = StoreCheck(d.keyword(n, "check", storeChecks, "checks"))
		}},
	})
	return s
}

func (d *decoder) readExpect(n ast.Node) { d.s.Expect = d.expect(n) }

func (d *decoder) expect(n ast.Node) map[string]string {
	expect := map[string]string{}
	entries := d.entries(n, "expect", "a mapping of properties to verdicts, for example `mutual-exclusion: holds`")
	for _, e := range entries {
		if !slices.Contains(checker.Names(), e.key) {
			d.report(e.at, fmt.Sprintf("unknown property %q", e.key), suggest(e.key, checker.Names(), "the properties are"))
			continue
		}
		expect[e.key] = d.keyword(e.value, e.key, verdicts, "verdicts that can be expected")
	}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) == 0 {
		d.report(position(n), "expect is empty",
			"give the verdict on at least one property, for example `mutual-exclusion: holds`")
	}
	return expect
}

func (d *decoder) bounds(n ast.Node, b Bounds) Bounds {
	d.fields(n, "bounds", []field{
		{"free", "", func(n ast.Node) { b.Free = d.span(n, "free", positive) }},
		{"grant", "", func(n ast.Node) { b.Grant = d.span(n, "grant", positive) }},
		{"release", "", func(n ast.Node) { b.Release = d.span(n, "release", positive) }},
		{"cancel", "", func(n ast.Node) { b.Cancel = d.span(n, "cancel", positive) }},
		{"tenure", "", func(n ast.Node) { b.Tenure = d.span(n, "tenure", positive) }},
	})
	return b
}

func (d *decoder) earned(n ast.Node, e Earned) Earned {
	count := func(name string, into **int) field {
		return field{name, "", func(n ast.Node) {
			least := d.integer(n, name, 0, 1_000_000)
			*into = &least
		}}
	}
	d.fields(n, "earned", []field{
		count("grants", &e.Grants), count("contended", &e.Contended), count("faults", &e.Faults),
		count("writes", &e.Writes), count("refused", &e.Refused),
	})
	return e
}
